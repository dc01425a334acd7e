// Package metrictest is what the tests of the modules that export metrics have in common.
package metrictest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/sqlite"
)

// tables is how many tables have been counted in.
var tables atomic.Int64

// Count counts in a new table, in a database of its own: one increment goes to a slot, and one
// statement drains. Numbers are of the process: the table's name is given once only.
func Count(t *testing.T) (c *slotsql.Connector, table string) {
	t.Helper()
	table = fmt.Sprintf("posts%d", tables.Add(1))
	yaml := "version: 1\nauto_migrate: true\ntables: {" + table + ": {counters: {views: {}}, slots: 4, placement: random}}\n"
	cfg, err := slotsql.Parse([]byte(yaml), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err = slotsql.OpenConnector(sqlite.DriverName, filepath.Join(t.TempDir(), "test.db"), slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	for _, q := range []string{
		"CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)", "INSERT INTO " + table + " (id) VALUES (1)",
		"UPDATE " + table + " SET views = views + 1 WHERE id = 1", "UPDATE " + table + " SET views = 0 WHERE id = 1",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return c, table
}

// Wake finds a new table awake, whose connector is open until the test ends.
func Wake(t *testing.T) (table string) {
	t.Helper()
	table = fmt.Sprintf("awake%d", tables.Add(1))
	file := filepath.Join(t.TempDir(), "test.db")
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {"+table+": {counters: {views: {}}, slots: 4}}\nrollup: {interval: 1h}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	db, err := slotsql.Open(sqlite.DriverName, file, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var most int
	if _, err = plain.ExecContext(t.Context(), "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, views INTEGER NOT NULL); INSERT INTO "+table+" VALUES (1, 5)"); err == nil {
		if err = db.PingContext(t.Context()); err == nil {
			_, err = plain.ExecContext(t.Context(), "INSERT INTO "+table+"_slots VALUES (1, 0, 2)")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT MAX(views) FROM "+table).Scan(&most); err != nil || most != 7 {
		t.Fatal(most, err)
	}
	return table
}

// Stuck rolls up a new table, with a slot whose base row cannot take what it holds. The lag is not known then.
func Stuck(t *testing.T) (table string) {
	t.Helper()
	c, table := Count(t)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	for _, q := range []string{
		"CREATE TRIGGER no_" + table + " BEFORE UPDATE ON " + table + " BEGIN SELECT RAISE(ABORT, 'no'); END",
		"INSERT INTO " + table + "_slots (id, slot, views) VALUES (1, 3, 5)",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{}); err != nil || r.Tables[0].Errors != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return table
}

// EveryNumber fails the test unless there are as many metrics as S has numbers.
func EveryNumber[S any](t *testing.T, metrics int) {
	t.Helper()
	var numbers []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[S]()) {
		if k := f.Type.Kind(); k == reflect.Uint64 || k == reflect.Int64 {
			numbers = append(numbers, f.Name)
		}
	}
	if len(numbers) != metrics {
		t.Errorf("%T has %v, of which %d are metrics", *new(S), numbers, metrics)
	}
}

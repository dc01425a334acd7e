package shadow

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// With log: {stats: ...} what has been counted is output every so often, and once
// more when the database is closed; nothing is when nothing was counted, nor of
// tables of others.
func TestStatsAreLogged(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		on, shadowed, other := "logged_on_"+dialect, "logged_shadow_"+dialect, "logged_other_"+dialect
		var schema []string
		for _, table := range []string{on, shadowed, other} {
			schema = append(schema, "CREATE TABLE "+table+" (id INT PRIMARY KEY, n INT NOT NULL)", "INSERT INTO "+table+" VALUES (1, 0)")
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Open: twin.OpenPlain, Schema: schema})
		open := func(stats string, w *logged, tables string) *sql.DB {
			t.Helper()
			c, err := slotsql.Parse(
				[]byte(golden.WithSlots("version: 1\nauto_migrate: true\nlog: {stats: "+stats+"}\ntables: {"+tables+"}\n")),
				"slotsql.yaml",
			)
			if err != nil {
				t.Fatal(err)
			}
			return sql.OpenDB(twin.ConnectorWith(t, p, c, slotsql.WithLogger(slog.New(slog.NewTextHandler(w, nil)))))
		}
		count := func(db *sql.DB, tables ...string) {
			t.Helper()
			for _, table := range tables {
				if _, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET n = n + 1 WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
			}
		}
		var often, last, others logged
		elsewhere := open("10ms", &others, other+": {counters: {n: }}")
		defer elsewhere.Close()
		count(elsewhere, other)
		db := open("10ms", &often, on+": {counters: {n: }}, "+shadowed+": {counters: {n: }, mode: shadow}")
		defer db.Close()
		closed := open("24h", &last, on+": {counters: {n: }}, "+shadowed+": {counters: {n: }, mode: shadow}")
		count(closed, on, shadowed, on)
		if got := last.String(); got != "" {
			t.Errorf("before the first day is over: %s", got)
		}
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"msg=\"slotsql: statements\" tables=[" + on + "] class=additive", "statements=2"} {
			if got := last.String(); !strings.Contains(got, want) {
				t.Errorf("when it is closed: no %q in %s", want, got)
			}
		}
		for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(often.String(), "tables=["+shadowed+"]") || !strings.Contains(often.String(), "tables=["+on+"]"); {
			if time.Now().After(deadline) {
				t.Fatalf("every so often: %s", often.String())
			}
			count(db, on, shadowed)
			wait(t)
		}
		if got := others.String(); strings.Contains(got, on) || strings.Contains(got, shadowed) {
			t.Errorf("of others' tables: %s", got)
		}
	})
}

// wait waits a little, for a condition that is looked at again.
func wait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// Nothing runs in the background unless it is configured, and what is has a time.
func TestLogIsChecked(t *testing.T) {
	for text, problem := range map[string]string{
		"log: {stats: 1m}": "", "log: {}": "",
		"log: {stats: 0s}": "must be more than 0", "log: {stats: 5}": "duration with a unit", "log: {stat: 1m}": `"stat"`, "log: 1m": "log",
	} {
		_, err := slotsql.Parse([]byte(golden.WithSlots("version: 1\n"+text+"\ntables: {}\n")), "slotsql.yaml")
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

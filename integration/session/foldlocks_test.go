package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that folds the slots of one row does not keep others from changing slots of other rows, or from making slots
// of rows beside it, however small the slot table.
func TestFoldLocksItsSlotsAlone(t *testing.T) {
	configs := map[string]string{
		"dedicated": "{counters: {views: {}, likes: {}}}",
		"one":       "{counters: {views: {}}}",
		"companion": "{counters: {views: {}}, companions: {seen: latest}}",
		"shared":    "{counters: {views: {record_type: 1}, likes: {record_type: 2}}, layout: shared}",
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for layout, config := range configs {
			for _, slots := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s %d", layout, slots), func(t *testing.T) {
					t.Parallel()
					foldOne(t, dialect, layout, config, slots)
				})
			}
		}
	})
}

// foldOne folds the slots of row 3, between rows with as many and rows without.
func foldOne(t *testing.T, dialect, layout, config string, slots int) {
	p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, likes BIGINT NOT NULL, seen INT)",
		"INSERT INTO posts VALUES (1, 0, 0, 0), (2, 0, 0, 0), (3, 0, 0, 0), (4, 0, 0, 0), (5, 0, 0, 0)",
	}, Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {posts: " + config + "}\n"})
	name, key, columns, keys := "posts_slots", "id", "id, slot, views", "(%d, %d, 1)"
	if layout == "shared" {
		key = "record_type = 1 AND record_id"
		name, columns, keys = "slotted_counters", "record_type, record_id, slot, count", "(1, %d, %d, 1), (2, %[1]d, %[2]d, 1)"
	}
	insert := func(row, slot int) string {
		return "INSERT INTO " + name + " (" + columns + ") VALUES " + fmt.Sprintf(keys, row, slot)
	}
	lock := func(row int) string {
		return fmt.Sprintf("SELECT 1 FROM %s WHERE %s = %d AND slot = 0 FOR UPDATE", name, key, row)
	}
	count(t, p.Wrapped, "SELECT COUNT(*) FROM posts") // there is a slot table
	for _, row := range []int{1, 3, 5} {
		for slot := range slots {
			execAll(t, p.Under, insert(row, slot))
		}
		if layout == "companion" {
			execAll(t, p.Wrapped, fmt.Sprintf("UPDATE posts SET views = views + 1, seen = 4 WHERE id = %d", row))
		}
	}
	tx, err := p.Wrapped.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing is to stay
	if _, err := tx.Exec("UPDATE posts SET views = 7, likes = 7 WHERE id = 3"); err != nil {
		t.Fatal(err)
	}
	wait := map[string]string{"mysql": "SET innodb_lock_wait_timeout = 1", "postgres": "SET lock_timeout = 500"}[dialect]
	other := twin.Conn(t, p.Under)
	for _, q := range []string{wait, insert(2, 0), insert(4, 0), insert(1, 3), insert(5, 3), lock(1), lock(5)} {
		if err := twin.Run(t.Context(), other, twin.Statement{SQL: q}).Err; err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
}

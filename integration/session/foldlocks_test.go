package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that folds the slots of one row keeps nobody from changing slots of other rows, nor from making slots of
// rows beside it, however small the slot table.
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
					p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
						"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, likes BIGINT NOT NULL, seen INT)",
						"INSERT INTO posts VALUES (1, 0, 0, 0), (2, 0, 0, 0), (3, 0, 0, 0), (4, 0, 0, 0), (5, 0, 0, 0)",
					}, Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {posts: " + config + "}\n"})
					name, key, columns, keys := "posts_slots", "id", "id, slot, views", "(%d, %d, 1)"
					if layout == "shared" {
						key = "record_type = 1 AND record_id"
						name, columns, keys = "slotted_counters", "record_type, record_id, slot, count", "(1, %d, %d, 1), (2, %[1]d, %[2]d, 1)"
					}
					count(t, p.Wrapped, "SELECT COUNT(*) FROM posts") // there is a slot table
					insert := func(row, slot int) string {
						return "INSERT INTO " + name + " (" + columns + ") VALUES " + fmt.Sprintf(keys, row, slot)
					}
					for _, row := range []int{1, 3, 5} {
						for slot := range slots {
							execAll(t, p.Under, insert(row, slot))
						}
					}
					if layout == "companion" {
						for _, row := range []int{1, 3, 5} {
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
					other, err := p.Under.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer other.Close()
					for _, q := range []string{wait, insert(2, 0), insert(4, 0), insert(1, 3), insert(5, 3)} {
						if _, err := other.ExecContext(t.Context(), q); err != nil {
							t.Errorf("%s: %v", q, err)
						}
					}
					lock := "SELECT 1 FROM " + name + " WHERE " + key + " = %d AND slot = 0 FOR UPDATE"
					for _, row := range []int{1, 5} {
						rows, err := other.QueryContext(t.Context(), fmt.Sprintf(lock, row))
						if err == nil {
							_ = rows.Close()
							err = rows.Err()
						}
						if err != nil {
							t.Errorf("a slot of row %d: %v", row, err)
						}
					}
				})
			}
		}
	})
}

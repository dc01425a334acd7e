package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A write that a READ ONLY transaction refuses is refused at once, and does not wait for
// increments that are in flight.
func TestReadOnlyRefusesBesideIncrement(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		schema := readOnlySchema(dialect)
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  schema,
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, placement: random, coalesce: false, counters: {views: {}}}}",
		})
		countIn(t, p)
		filled(t, p)
		held, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Rollback() }()
		if _, err := held.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"UPDATE posts SET views = 7 WHERE id = 1", "DELETE FROM posts", "update posts set views = views * 2;", "DELETE FROM posts WHERE id = 1 RETURNING views"} {
			if dialect == "mysql" && strings.HasPrefix(query, "update") {
				query = "update low_priority `posts` set views = views * 2"
			}
			readOnlyTx(t, pinned(t, p)).same(t, twin.Statement{SQL: query})
		}
	})
}

package session

import (
	"context"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Once transactions are known to read a counter after they have counted it, they lock its row before that. A
// role that may not move slots is not refused its increments for that.
func TestRightsOfTransactionsThatLockFirst(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  schema("postgres"),
		Config:  strings.Replace(config, "slots: 8", "slots: 8, placement: random", 1),
	})
	role := "app_" + strings.ToLower(strings.Map(letters, t.Name()))
	owner := []twin.Execer{p.Plain, p.Under}
	twin.ExecAll(t, p.Plain, "DROP ROLE IF EXISTS "+role, "CREATE ROLE "+role)
	t.Cleanup(func() {
		for i, query := range []string{"DROP OWNED BY " + role, "DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := owner[i%2].ExecContext(context.Background(), query); err != nil {
				t.Error(err)
			}
		}
	})
	const (
		increment = "UPDATE posts SET views = views + 1 WHERE id = 1"
		upsert    = "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1"
	)
	p.Same(t, twin.Statement{SQL: increment}) // makes the slot table
	for _, db := range owner {
		twin.ExecAll(t, db, "GRANT SELECT (id, views), UPDATE (views), INSERT (id, views) ON posts TO "+role)
	}
	twin.ExecAll(t, p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO "+role)
	s := both{twin.Conn(t, p.Plain), twin.Conn(t, p.Wrapped)}
	run := func(list ...string) {
		t.Helper()
		for _, q := range list {
			s.same(t, twin.Statement{SQL: q})
		}
	}
	run("BEGIN", increment, "SELECT views FROM posts WHERE id = 1", "COMMIT", increment)
	run("BEGIN", "SET LOCAL ROLE "+role, increment, upsert, "COMMIT")
	run("BEGIN", increment, increment, "COMMIT")
	p.Same(t, twin.Statement{SQL: totals})
}

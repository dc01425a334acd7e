package session

import (
	"context"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// With innodb_snapshot_isolation (MariaDB, by default from 11.6.2 on) a transaction fails when it locks
// what is newer than its snapshot. A statement in autocommit has no snapshot before its locks, so it goes on
// with what it has waited for; and so does one that has drained before that, in a transaction of slotsql's own.
func TestAutocommitMeetsNoSnapshot(t *testing.T) {
	for name, query := range map[string]string{
		"join":         "UPDATE posts JOIN log ON log.id = posts.id SET posts.views = 5, posts.title = log.note WHERE posts.id = 1",
		"subquery":     "UPDATE posts SET views = 5, title = (SELECT note FROM log WHERE id = 1) WHERE id = 1",
		"all rows":     "UPDATE posts SET views = 5, title = (SELECT note FROM log WHERE id = 1) WHERE title = 'one'",
		"upsert":       "INSERT INTO posts (id, views) VALUES (1, 5) ON DUPLICATE KEY UPDATE views = 2 * views, title = (SELECT note FROM log WHERE id = 1)",
		"delete":       "DELETE posts FROM posts JOIN log ON log.id = posts.id WHERE posts.id = 1",
		"locking read": "SELECT posts.views, log.note FROM posts JOIN log ON log.id = posts.id WHERE posts.id = 1 FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: "mysql", Schema: append(schema("mysql"), "INSERT INTO log VALUES (1, 'a')"),
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, placement: random}}\n",
			})
			for range 8 {
				execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
			}
			tx, err := p.Under.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // it is committed
			if _, err := tx.ExecContext(t.Context(), "UPDATE log SET note = 'b' WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- readAll(p.Wrapped.QueryContext(context.WithoutCancel(t.Context()), query)) }()
			if !p.UntilBlocked(t, done) {
				t.Fatalf("%s does not wait: %v", query, <-done)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Errorf("%s: %v", query, err)
			}
		})
	}
}

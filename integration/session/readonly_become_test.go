package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that has changed rows and becomes READ ONLY then reads their totals, which no
// other session changes until it has ended.
func TestBecomesReadOnly(t *testing.T) {
	t.Parallel()
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	for _, placement := range []string{"adaptive", "random"} {
		for _, become := range []string{"SET TRANSACTION READ ONLY", "set transaction_read_only = on", "SET LOCAL transaction_read_only TO true"} {
			t.Run(placement+"/"+become, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"),
					Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8, placement: " + placement + "}}\n"})
				s := pinned(t, p)
				for _, query := range []string{
					"START TRANSACTION", add, become, totals, "SAVEPOINT a", totals, "ROLLBACK TO a", totals, add, "ROLLBACK", totals,
					"BEGIN", add, totals, "SAVEPOINT a", "UPDATE posts SET views = views + 2 WHERE id = 2", become, totals, "ROLLBACK TO a", totals, add, totals, "COMMIT", totals,
					"BEGIN", add, add, become, "COMMIT", add, totals,
					"BEGIN", "UPDATE posts SET views = views + 1", become, "SELECT SUM(views) FROM posts", "COMMIT", totals,
				} {
					s.same(t, twin.Statement{SQL: query})
				}
				final(t, p)
			})
		}
	}
}

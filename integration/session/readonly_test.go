package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A READ ONLY transaction reads views, calls routines and locks rows as with the
// plain driver, and may not write.
func TestReadOnlyTransactions(t *testing.T) {
	statements := []string{
		"SELECT id, views FROM ranked ORDER BY id",
		"SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
		"SELECT views FROM posts WHERE id = 2 FOR UPDATE",
		"SELECT views_of(1), views_of(2)",
		"SELECT views FROM posts ORDER BY id",
		"SELECT MAX(views) INTO @x FROM ranked",
		"SET @y = views_of(2)",
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"CALL double_views(1)",
		"SELECT views FROM ranked WHERE id = 1",
	}
	for _, how := range []string{"begintx", "text", "session"} {
		for _, level := range []string{"REPEATABLE READ", "READ COMMITTED"} {
			if how != "session" && level != "REPEATABLE READ" {
				continue // gaps are not locked: see docs/divergences.md
			}
			t.Run(how+"/"+level, func(t *testing.T) {
				t.Parallel()
				p := twin.New(
					t,
					twin.Options{
						Dialect: "mysql",
						Schema:  dynamicSchema,
						Config:  "version: 1\nauto_migrate: true\ntables: {posts: {routines: [double_views, views_of], counters: {views: {}}}}",
					},
				)
				count := func() {
					for range 3 {
						p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
						p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 3 WHERE id = 2"})
					}
				}
				count()
				one := pinned(t, p)
				one.same(t, twin.Statement{SQL: "SET SESSION TRANSACTION ISOLATION LEVEL " + level})
				switch how {
				case "begintx":
					var txs [2]*sql.Tx
					for i, c := range []twin.Session{one.plain, one.wrapped} {
						tx, err := c.(*sql.Conn).BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
						if err != nil {
							t.Fatal(err)
						}
						txs[i] = tx
						defer func() { _ = tx.Rollback() }()
					}
					one = both{txs[0], txs[1]}
				case "text":
					one.same(t, twin.Statement{SQL: "START TRANSACTION READ ONLY"})
				default:
					one.same(t, twin.Statement{SQL: "SET SESSION TRANSACTION READ ONLY"})
				}
				for _, query := range statements {
					one.same(t, twin.Statement{SQL: query})
					if how == "session" {
						count()
					}
				}
				one.same(t, twin.Statement{SQL: "SELECT @x, @y"})
			})
		}
	}
}

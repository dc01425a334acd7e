package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Several queries in one call, of counters and of other tables, are drained for only what their transaction has changed: they
// run in a READ ONLY transaction whose snapshot shows slots, each with its own columns and column types.
func TestSeveralQueries(t *testing.T) {
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	params := map[string]string{"mysql": "multiStatements=true", "postgres": "default_query_exec_mode=simple_protocol"}
	queries := []string{
		"SELECT views FROM posts WHERE id = 1 -- one\n; SELECT id, likes FROM posts ORDER BY id",
		"SELECT views AS v, title FROM posts WHERE id = 1; SELECT COUNT(*) FROM log; SELECT SUM(views), MAX(likes) FROM posts;",
		"SELECT 1; SELECT * FROM posts ORDER BY views DESC, id LIMIT 2; SELECT nothing FROM posts",
		"SELECT id FROM posts WHERE views > 10 ORDER BY id; VALUES (1, 'a')",
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		config := strings.Replace(heldConfig, "adaptive", "connection", 1)
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: config, Params: params[dialect]})
		other := otherProcess(t, p)
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			for _, readOnly := range []bool{true, false} {
				for _, query := range queries {
					execAll(t, other, add)
					execAll(t, p.Plain, add)
					var txs [2]*sql.Tx
					for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level, ReadOnly: readOnly})
						if err != nil {
							t.Fatal(err)
						}
						defer tx.Rollback() //nolint:errcheck // it may have ended
						txs[i] = tx
					}
					on := both{txs[0], txs[1]}
					on.same(t, twin.Statement{SQL: "SELECT COUNT(*) FROM log"})
					execAll(t, other, "UPDATE posts SET views = views + 1 WHERE id = 3")
					execAll(t, p.Plain, "UPDATE posts SET views = views + 1 WHERE id = 3")
					if !readOnly {
						on.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 2"})
					}
					on.same(t, twin.Statement{SQL: query, Mode: twin.Query})
					for _, tx := range txs {
						if err := tx.Rollback(); err != nil {
							t.Fatal(err)
						}
					}
					p.Same(t, twin.Statement{SQL: query, Mode: twin.Query})
				}
			}
		}
	})
}

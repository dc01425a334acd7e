package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// readOnlySchema has a view, one over it, and routines over a counter table.
func readOnlySchema(dialect string) []string {
	schema := []string{
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 10), (2, 20)",
		"CREATE VIEW ranked AS SELECT id, views FROM posts WHERE views > 0", "CREATE VIEW best AS SELECT MAX(views) AS views FROM ranked",
	}
	if dialect == "postgres" {
		schema = append(
			schema,
			"CREATE FUNCTION views_of(k int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT views FROM posts WHERE id = k); END'",
			"CREATE FUNCTION more_views(k int) RETURNS bigint LANGUAGE sql AS 'UPDATE posts SET views = views + 1 WHERE id = k RETURNING views'",
		)
	}
	return schema
}

func readOnlyPair(t *testing.T, dialect, params string) *twin.Pair {
	routines := ""
	if dialect != "sqlite" {
		routines = "routines: [views_of, more_views], "
	}
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema:  readOnlySchema(dialect),
		Params:  params,
		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {" + routines + "slots: 8, placement: random, coalesce: false, counters: {views: {}}}}",
	})
}

// countIn counts in slots on both sides.
func countIn(t *testing.T, p *twin.Pair) {
	t.Helper()
	for range 3 {
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 3 WHERE id = 2"})
	}
}

// filled fails the test unless there are slots to be folded.
func filled(t *testing.T, p *twin.Pair) {
	t.Helper()
	if got := twin.Rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots WHERE views <> 0"); strings.Contains(got, "[0]") {
		t.Fatal("nothing is in slots")
	}
}

// A READ ONLY transaction of PostgreSQL reads views of a table without slots, and where it has one snapshot calls functions, as with
// the plain driver, however it has begun, and may not write.
func TestReadOnlySnapshots(t *testing.T) {
	reads := []string{
		"SELECT id, views FROM ranked ORDER BY id",
		"SELECT views FROM best",
		"SELECT views FROM posts ORDER BY id",
		"WITH w AS (SELECT * FROM ranked) SELECT SUM(views) FROM w",
		"SELECT views FROM ranked WHERE id = 1",
		"SHOW transaction_read_only",
	}
	calls := []string{"SELECT views_of(1), views_of(2)", "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT views_of(1)", "SELECT more_views(1)"}
	writes := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"SELECT views FROM posts WHERE id = 1 FOR UPDATE",
		"SELECT views FROM posts WHERE id = 2 FOR SHARE",
		"WITH w AS (UPDATE posts SET views = 0 RETURNING id) SELECT * FROM w",
		"DELETE FROM posts WHERE id = 1",
	}
	hows := map[string]struct {
		begin []string
		calls bool // its queries see one snapshot, or it may write
	}{
		"begintx":     {nil, false},
		"text":        {[]string{"BEGIN READ ONLY"}, false},
		"level":       {[]string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}, true},
		"serial":      {[]string{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"}, true},
		"deferrable":  {[]string{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"}, true},
		"set":         {[]string{"BEGIN", "SELECT 1", "SET TRANSACTION READ ONLY"}, false},
		"setting":     {[]string{"BEGIN", "SET LOCAL transaction_read_only = on"}, false},
		"session":     {[]string{"SET default_transaction_read_only = on", "BEGIN"}, false},
		"autocommit":  {[]string{"SET default_transaction_read_only = on"}, true},
		"character":   {[]string{"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "BEGIN"}, false},
		"writes":      {[]string{"SET default_transaction_read_only = on", "BEGIN READ WRITE"}, true},
		"writesagain": {[]string{"BEGIN READ ONLY", "SET TRANSACTION READ WRITE"}, true},
		"savepoint":   {[]string{"BEGIN READ ONLY", "SAVEPOINT a"}, false},
	}
	for how, c := range hows {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for routines, statements := range map[string][]string{"": append(reads, writes...), "routines: [views_of, more_views], ": calls} {
				if routines != "" && !c.calls {
					continue // see docs/divergences.md
				}
				p := twin.New(t, twin.Options{
					Dialect: "postgres",
					Schema:  readOnlySchema("postgres"),
					Config:  "version: 1\nauto_migrate: true\ntables: {posts: {" + routines + "slots: 8, placement: adaptive, counters: {views: {}}}}",
				})
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				one := pinned(t, p)
				if how == "begintx" {
					one = readOnlyTx(t, one)
				}
				for _, query := range c.begin {
					one.same(t, twin.Statement{SQL: query})
				}
				for _, query := range statements {
					one.same(t, twin.Statement{SQL: "SAVEPOINT b"})
					one.same(t, twin.Statement{SQL: query})
					one.same(t, twin.Statement{SQL: "ROLLBACK TO b"})
				}
				if how == "begintx" {
					continue
				}
				one.same(t, twin.Statement{SQL: "ROLLBACK"})
				one.same(t, twin.Statement{SQL: "SHOW default_transaction_read_only"})
				one.same(t, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"})
			}
		})
	}
}

func readOnlyTx(t *testing.T, b both) both {
	t.Helper()
	var txs [2]*sql.Tx
	for i, c := range []twin.Session{b.plain, b.wrapped} {
		tx, err := c.(*sql.Conn).BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		txs[i] = tx
	}
	return both{txs[0], txs[1]}
}

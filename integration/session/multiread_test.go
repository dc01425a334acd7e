package session

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/session"
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

// A call of several statements by Query drains nothing where tables sleep, and is as plain also if one of its queries is the first to find
// slots of another process.
func TestSeveralAsleep(t *testing.T) {
	params := map[string]string{"mysql": "multiStatements=true&interpolateParams=true", "postgres": "default_query_exec_mode=simple_protocol"}
	const topics, tags = "SELECT id, n FROM topics ORDER BY n DESC, id LIMIT 2", "SELECT COUNT(*), MAX(n) FROM tags WHERE n > 3"
	queries := []twin.Statement{
		{SQL: topics + "; " + tags},
		{SQL: tags + "; " + topics + "; SELECT n FROM tags WHERE n > 1000; SELECT * FROM tags WHERE id = 2; SELECT 'end' AS e"},
		{SQL: topics + "; SELECT n, missing FROM tags; " + tags},
		{SQL: "SELECT id FROM topics WHERE n > ? ORDER BY id; SELECT id, n AS m FROM tags WHERE n BETWEEN ? AND 1000 ORDER BY id", Args: []any{5, 7}},
		{SQL: "SELECT SUM(100 / (n - 10)) FROM tags; SELECT SUM(100 / (n - 10)) FROM topics"},
	}
	mixed := []twin.Statement{
		{SQL: "UPDATE topics SET n = n + 1 WHERE id = 1; SELECT n FROM topics WHERE id = 1"},
		{SQL: "INSERT INTO topics VALUES (4, 4); UPDATE tags SET n = n + 2 WHERE id = 1; " + tags + "; " + topics},
		{SQL: topics + "; UPDATE topics SET n = n + ? WHERE id > ?; SELECT n FROM topics WHERE id = ?", Args: []any{2, 6, 3}},
		{SQL: "INSERT INTO topics VALUES (1, 4); " + tags},
		{SQL: "UPDATE tags SET n = n + 1 WHERE id = 1; UPDATE tags SET n = n + 2 WHERE id = 2"},
	}
	drains := []twin.Statement{
		{SQL: "UPDATE topics SET n = 3 WHERE id = 2; SELECT n FROM topics WHERE id = 2; " + tags},
		{SQL: topics + "; UPDATE topics SET n = n * ? WHERE id = ?; SELECT n FROM topics WHERE id = 2", Args: []any{2, 2}},
		{SQL: topics + "; DELETE FROM tags WHERE id = 1; INSERT INTO topics VALUES (1, 1); " + tags},
		{SQL: "DELETE FROM tags WHERE id = 1; UPDATE topics SET n = 1 WHERE id = 2"},
	}
	twin.Each(t, func(t *testing.T, dialect string) {
		list := queries
		if dialect != "postgres" { // one transaction there
			list = slices.Concat(queries, mixed)
		}
		if dialect == "mysql" { // others drain for the call as a whole
			list = append(list, drains...)
		}
		for i, s := range list {
			if s.Mode = twin.Query; dialect == "postgres" {
				s.SQL = dollars(s.SQL)
			} else if dialect == "sqlite" && s.Args != nil {
				continue // each statement begins with the first argument
			}
			for _, awake := range []string{"", "topics", "tags"} {
				topics, tags := fmt.Sprintf("topics_%s%d%s", dialect, i, awake), fmt.Sprintf("tags_%s%d%s", dialect, i, awake)
				named := strings.NewReplacer("topics", topics, "tags", tags)
				p := twin.New(t, twin.Options{Dialect: dialect, Params: params[dialect], Schema: []string{
					"CREATE TABLE " + topics + " (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
					"CREATE TABLE " + tags + " (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
					"INSERT INTO " + topics + " VALUES (1, 5), (2, 6), (3, 7)",
					"INSERT INTO " + tags + " VALUES (1, 5), (2, 6), (3, 7)",
				}, Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: adaptive}\ntables: {" + topics + ": {counters: {n: {}}}, " + tags +
					": {counters: {n: {}}}}\n"})
				if err := p.Wrapped.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				if awake != "" {
					twin.ExecAll(t, p.Under, named.Replace("INSERT INTO "+awake+"_slots (id, slot, n) VALUES (2, 0, 9)"))
					twin.ExecAll(t, p.Plain, named.Replace("UPDATE "+awake+" SET n = n + 9 WHERE id = 2"))
				}
				sent := s
				sent.SQL = named.Replace(s.SQL)
				plain, _ := p.Same(t, sent)
				p.Same(t, sent)
				var counted session.StatementStats
				for _, c := range session.Stats() {
					if slices.Contains(c.Tables, topics) || slices.Contains(c.Tables, tags) {
						counted.Drains, counted.Observed = counted.Drains+c.Drains, counted.Observed+c.Observed
					}
				}
				last := dialect != "sqlite" || !strings.Contains(s.SQL, "'end'") // of the last query only
				reads := last && plain.Err == nil && strings.Contains(s.SQL, "; SELECT") && !strings.Contains(s.SQL, "100 /")
				drained := counted.Drains > 0 && i < len(queries)+len(mixed) && !(dialect == "postgres" && s.Args != nil && awake != "")
				if drained || awake == "" && reads && counted.Observed == 0 {
					t.Errorf("%s: %d drains, %d observed", sent.SQL, counted.Drains, counted.Observed)
				}
				on, end := p.Inside(t)
				both{on.Plain, on.Wrapped}.same(t, sent)
				for _, d := range end(true) {
					t.Errorf("%s, in a transaction: %v", sent.SQL, d)
				}
				p.Same(t, twin.Statement{SQL: "SELECT * FROM " + topics + " ORDER BY id"})
				p.Same(t, twin.Statement{SQL: "SELECT * FROM " + tags + " ORDER BY id"})
			}
		}
	})
}

package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction (a) and what another session (b) does beside it, plain and
// wrapped. The first statements of b leave something in slots; the "drain"
// moves it into the row. Folds: plain leaves the row as it is, which a snapshot that a change is
// held to shows (docs/divergences.md).
var versions = map[string]struct {
	steps, only string
	folds       bool
}{
	"an ordinary column":        {steps: "a read; b inc; b drain; a UPDATE posts SET title = 'x' WHERE id = 1"},
	"an increment and a column": {steps: "a read; b inc; b drain; a UPDATE posts SET views = views + 2, title = 'x' WHERE id = 1"},
	"without a drain":           {steps: "a read; b inc; a UPDATE posts SET title = 'x' WHERE id = 1"},
	"a slotted increment":       {steps: "a read; b inc; b drain; a UPDATE posts SET views = views + 2 WHERE id = 1"},
	"a set counter":             {steps: "a read; b inc; b drain; a UPDATE posts SET views = 100 WHERE id = 1"},
	"a computed counter":        {steps: "a read; b drain; b inc; b drain; a UPDATE posts SET views = views * 2 WHERE id = 1"},
	"nothing":                   {steps: "a read; b inc; b drain; a UPDATE posts SET title = 'y' WHERE id = 1 AND title = 'none'"},
	"several rows":              {steps: "a read; b inc; b drain; a UPDATE posts SET title = 'x' WHERE id IN (1, 3)"},
	"rows found otherwise":      {steps: "a read; b drain; a UPDATE posts SET title = 'x' WHERE title = 'one'", folds: true},
	"a row and its place": {
		steps: "a read; b inc; b drain; a DELETE FROM posts WHERE id = 1; a INSERT INTO posts (id, views) VALUES (1, 4)",
	},
	"a place": {
		steps: "a read; b DELETE FROM posts WHERE id = 1; a INSERT INTO posts (id, views) VALUES (1, 4)",
		only:  "mysql",
	}, // PostgreSQL shows both rows
	"a place, of many": {
		steps: "a read; b DELETE FROM posts WHERE id = 1; a INSERT INTO posts (id, views) SELECT id - 1, 7 FROM posts WHERE id = 2",
		only:  "mysql",
	},
	"increments that cancel out": {
		steps: "a read; b UPDATE posts SET views = 50 WHERE id = 1; b UPDATE posts SET views = views + 3 WHERE id = 1; a UPDATE posts SET views = views - 3 WHERE id = 1",
	},
	"a change undone": {
		steps: "a read; a SAVEPOINT s; b inc; b drain; a UPDATE posts SET title = 'x' WHERE id = 1; a ROLLBACK TO SAVEPOINT s",
		only:  "mysql",
	},
	"a change undone before others": {
		steps: "a read; a SAVEPOINT s; a UPDATE posts SET title = 'x' WHERE id = 1; a ROLLBACK TO SAVEPOINT s; b inc",
		only:  "postgres",
	}, // MySQL keeps the lock
	"an increment undone": {
		steps: "a read; a SAVEPOINT s; a UPDATE posts SET views = views + 1 WHERE id = 1; a ROLLBACK TO SAVEPOINT s; b inc",
		only:  "postgres",
	},
	"a change before a savepoint": {
		steps: "a read; b inc; b drain; a UPDATE posts SET title = 'x' WHERE id = 1; a SAVEPOINT s; a read; a ROLLBACK TO SAVEPOINT s",
	},
	"an undone read between": {
		steps: "a read; b inc; b drain; a UPDATE posts SET views = views + 1 WHERE id = 1; a SAVEPOINT s; a UPDATE posts SET title = 'x' WHERE id = 1; a read; a ROLLBACK TO SAVEPOINT s",
	},
	"an upsert of two rows, MySQL": {
		steps: "a read; b inc; b drain; a INSERT INTO posts (id, views) VALUES (1, 5), (8, 6) ON DUPLICATE KEY UPDATE views = posts.views + VALUES(views)",
		only:  "mysql",
	},
	"an upsert of a column, MySQL": {
		steps: "a read; b inc; b drain; a INSERT INTO posts (id, title) VALUES (1, 'u') ON DUPLICATE KEY UPDATE title = VALUES(title)",
		only:  "mysql",
	},
	"REPLACE": {steps: "a read; b inc; b drain; a REPLACE INTO posts (id, views, title) VALUES (1, 5, 'r')", only: "mysql"},
	"a join":  {steps: "a read; b inc; b drain; a UPDATE posts JOIN log ON log.id = posts.id SET posts.title = 'j'", only: "mysql"},
	"an upsert of two rows": {
		steps: "a read; b inc; b drain; a INSERT INTO posts (id, views) VALUES (1, 5), (8, 6) ON CONFLICT (id) DO UPDATE SET views = posts.views + excluded.views",
		only:  "postgres",
	},
	"an upsert": {
		steps: "a read; b inc; a INSERT INTO posts (id, views) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
		only:  "postgres",
	},
	"an upsert of a column": {
		steps: "a read; b inc; a INSERT INTO posts (id, title) VALUES (1, 'u') ON CONFLICT (id) DO UPDATE SET title = excluded.title",
		only:  "postgres",
	},
	"RETURNING": {steps: "a read; b inc; a UPDATE posts SET title = 'x' WHERE id = 1 RETURNING id, title", only: "postgres"},
	"FROM":      {steps: "a read; b inc; a UPDATE posts SET title = 'x' FROM log WHERE log.id = posts.id", only: "postgres"},
	"WITH": {
		steps: "a read; b inc; a WITH w AS (UPDATE posts SET title = 'x' WHERE id = 1 RETURNING id) SELECT id FROM w",
		only:  "postgres",
	},
	"WITH, an increment": {
		steps: "a read; b inc; a WITH w AS (UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING id) INSERT INTO log SELECT id + 100, 'w' FROM w",
		only:  "postgres",
	},
	"an increment after a read":      {steps: "a read; b inc; a UPDATE posts SET views = views + 1 WHERE id = 1"},
	"nothing but reads":              {steps: "a read; b inc; b UPDATE posts SET views = views + 1 WHERE id = 2"},
	"an increment of another row":    {steps: "a read; b inc; a UPDATE posts SET views = views + 1 WHERE id = 2"},
	"a deletion after a read":        {steps: "a read; b inc; a DELETE FROM posts WHERE id = 1"},
	"a change of a row that is gone": {steps: "a read; b DELETE FROM posts WHERE id = 1; a UPDATE posts SET title = 'x' WHERE id = 1"},
	"counters read elsewhere": {
		steps: "a INSERT INTO log SELECT 7, CONCAT('v', views) FROM posts WHERE id = 1; b inc; a UPDATE posts SET views = views + 1 WHERE id = 1",
		only:  "postgres",
	}, // MySQL's locks what it reads
}

// What a transaction reads of rows that it has changed is its own version of
// them, and gets an error for what it must not change, at every isolation level.
func TestVersions(t *testing.T) {
	levels := map[string][]string{
		"mysql":    {"READ COMMITTED", "REPEATABLE READ"},
		"postgres": {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"},
	}
	for dialect, list := range levels {
		p := newPair(t, dialect, map[string]string{"mysql": "innodb_lock_wait_timeout=60", "postgres": "lock_timeout=60s"}[dialect])
		a, b := pinned(t, p), pinned(t, p)
		held := false
		if dialect == "mysql" {
			var err error
			if held, err = twin.SnapshotIsolation(t.Context(), p.Under); err != nil {
				t.Fatal(err)
			}
		}
		for _, level := range list {
			for name, v := range versions {
				if v.only != "" && v.only != dialect || v.folds && held && level == "REPEATABLE READ" {
					continue
				}
				t.Run(dialect+"/"+level+"/"+name, func(t *testing.T) {
					run := func(s both, query string) {
						switch query {
						case "inc":
							query = "UPDATE posts SET views = views + 1 WHERE id = 1"
						case "drain":
							query = "UPDATE posts SET views = views * 1 WHERE id = 1"
						case "read":
							s.same(t, twin.Statement{SQL: "SELECT id, views, title FROM posts WHERE id <> 3 ORDER BY id"})
							query = "SELECT views FROM posts WHERE id = 1"
						}
						s.same(t, twin.Statement{SQL: query})
					}
					for _, query := range []string{
						"DELETE FROM log", "INSERT INTO log VALUES (1, 'l')", "DELETE FROM posts",
						"INSERT INTO posts (id, views, likes, title) VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')", "inc", "inc",
					} {
						run(b, query)
					}
					// What a session has changed before its transaction is not the
					// transaction's.
					for _, query := range []string{"BEGIN", "ROLLBACK", "UPDATE posts SET title = 'two' WHERE id = 2", "inc"} {
						run(a, query)
					}
					run(
						a,
						"SET SESSION "+map[string]string{"mysql": "", "postgres": "CHARACTERISTICS AS "}[dialect]+"TRANSACTION ISOLATION LEVEL "+level,
					)
					run(a, "BEGIN")
					for _, step := range append(strings.Split(v.steps, "; "), "a read", "a read", "a COMMIT", "b read") {
						who, query, _ := strings.Cut(step, " ")
						run(map[string]both{"a": a, "b": b}[who], query)
					}
				})
			}
		}
	}
}

// Who has changed a row in a transaction and then read its counter has it for
// itself, whatever column it was.
func TestChangedRowIsKept(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, query := range []string{
			"UPDATE posts SET title = 'x' WHERE id = 1",
			"UPDATE posts SET title = 'x' WHERE title = 'one'",
			"UPDATE posts SET views = views + 1, title = 'x' WHERE id = 1",
			"UPDATE posts SET views = views + 1 WHERE id IN (1, 2)",
		} {
			t.Run(query, func(t *testing.T) {
				t.Parallel()
				p := newPair(
					t,
					dialect,
					map[string]string{"mysql": "innodb_lock_wait_timeout=0", "postgres": "lock_timeout=300ms"}[dialect],
				)
				inc := "UPDATE posts SET views = views + 1 WHERE id = 1"
				execAll(t, p.Wrapped, inc)
				tx, err := p.Wrapped.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec(query); err != nil {
					t.Fatal(err)
				}
				read := func() (n int) {
					t.Helper()
					if err := tx.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				before := read()
				if _, err := p.Wrapped.Exec(inc); !conflictOrTimeout(err) {
					t.Errorf("an increment beside it: %v", err)
				}
				if n := read(); n != before {
					t.Errorf("%d, then %d", before, n)
				}
			})
		}
	})
}

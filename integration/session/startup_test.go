package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// wrapped opens the wrapped side once more, with another configuration.
func wrapped(t *testing.T, p *twin.Pair, config string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(golden.WithSlots(config)), 0o600); err != nil {
		t.Fatal(err)
	}
	driver := twin.Plain[p.Dialect]
	db, err := twin.OpenWrapped(driver, p.WrappedDSN, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execAll(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := db.ExecContext(context.Background(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func TestStartupProblems(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		for config, want := range map[string][]string{
			"version: 1\nauto_migrate: true\ntables: {posts: {counters: {nosuch: {}}}}\n":                                  {":3:", `"nosuch"`, "columns are"},
			"version: 1\nauto_migrate: true\ntables: {posts: {counters: {title: {}}}}\n":                                   {":3:", `"title"`},
			"version: 1\nauto_migrate: true\ntables: {posts: {key: [title], counters: {views: {}}}}\n":                     {":3:", "not a unique key"},
			"version: 1\nauto_migrate: true\ntables: {posts: {key: [id, title], counters: {views: {}}}}\n":                 {":3:", "not a unique key"},
			"version: 1\nauto_migrate: true\ntables: {posts: {counters: {id: {}}}}\n":                                      {":3:", `"id"`},
			"version: 1\ntables: {posts: {counters: {views: {}}}}\n":                                                       {":2:", "posts_slots", "slotsql migrate"},
			"version: 1\nauto_migrate: true\ntables: {posts: {counters: {no1: {}, no2: {}}}, none: {counters: {a: {}}}}\n": {"no1", "no2", "none"},
		} {
			db := wrapped(t, p, config)
			for range 2 { // every connection says so until it is put right
				err := db.PingContext(t.Context())
				var ce *slotsql.ConfigError
				if !errors.As(err, &ce) {
					t.Errorf("%s: error %v", config, err)
					continue
				}
				for _, w := range want {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%s: error does not say %q: %v", config, w, err)
					}
				}
			}
		}
		// The error is of the moment: once it is put right, the same DB works.
		db := wrapped(t, p, "version: 1\ntables: {posts: {counters: {views: {}}}}\n")
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("no error without the slot table")
		}
		execAll(
			t,
			wrapped(t, p, "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"),
			"UPDATE posts SET views = views + 1 WHERE id = 1",
		)
		execAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
		var n int
		if err := db.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil || n != 12 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// Many processes start at once, each with many connections.
func TestAutoMigrateAtOnce(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		var dbs []*sql.DB
		for range 4 {
			dbs = append(dbs, wrapped(t, p, config))
		}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, err := dbs[i%4].ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		var n int
		if err := dbs[0].QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil || n != 26 {
			t.Errorf("%d, %v", n, err)
		}
		execAll(t, wrapped(t, p, config), "UPDATE posts SET views = views + 1 WHERE id = 1") // and again
	})
}

// Names and keys as odd as engines take them.
func TestOddTables(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		q := map[string]func(string) string{
			"mysql": func(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" },
		}[dialect]
		if q == nil {
			q = func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		}
		text := "VARCHAR(40) COLLATE utf8mb4_bin"
		folded := "VARCHAR(40) COLLATE utf8mb4_general_ci"
		switch dialect {
		case "postgres":
			text, folded = `VARCHAR(40) COLLATE "C"`, `TEXT COLLATE "ucs_basic"`
		case "sqlite":
			text, folded = "TEXT", "TEXT COLLATE NOCASE"
		}
		odd, ord, quo := q("Odd Name"), q("order"), q("q`u\"o'te")
		p := twin.New(t, twin.Options{Dialect: dialect,
			Schema: []string{
				fmt.Sprintf("CREATE TABLE %s (%s INTEGER PRIMARY KEY, %s INTEGER NOT NULL)", odd, q("the id"), q("Select")),
				fmt.Sprintf("INSERT INTO %s VALUES (1, 5), (2, 6)", odd),
				fmt.Sprintf("CREATE TABLE %s (a %s NOT NULL, b INTEGER NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (a, b))", ord, folded),
				fmt.Sprintf("INSERT INTO %s VALUES ('Ab', 1, 5), ('c', 2, 6)", ord),
				fmt.Sprintf("CREATE TABLE %s (k %s NOT NULL UNIQUE, slot INTEGER NOT NULL, n INTEGER)", quo, text),
				fmt.Sprintf("INSERT INTO %s VALUES ('k', 1, 5), ('K', 2, NULL)", quo),
				"CREATE TABLE site (hits INTEGER NOT NULL, name VARCHAR(10))",
				"INSERT INTO site VALUES (7, 'x')",
			},
			Config: `version: 1
auto_migrate: true
tables:
  "Odd Name": {counters: {Select: {}}}
  order: {counters: {n: {}}}
  '"q` + "`" + `u""o''te"': {key: [k], counters: {n: {}}}
  site: {key: [], counters: {hits: {}}}
`})
		one, other := pinned(t, p), pinned(t, p)
		run := func(statements ...string) {
			t.Helper()
			for _, s := range statements {
				one.same(t, twin.Statement{SQL: s})
				for _, table := range []string{odd, ord, quo, "site"} {
					other.same(t, twin.Statement{SQL: "SELECT * FROM " + table})
				}
			}
		}
		for range 2 {
			run(
				fmt.Sprintf("UPDATE %s SET %s = %[2]s + 1 WHERE %s = 1", odd, q("Select"), q("the id")),
				fmt.Sprintf("UPDATE %s SET %s = %[2]s * 2 WHERE %s = 1", odd, q("Select"), q("the id")),
				fmt.Sprintf("UPDATE %s SET n = n + 2 WHERE a = 'Ab' AND b = 1", ord),
				fmt.Sprintf("UPDATE %s SET n = n + 2 WHERE a = 'AB' AND b = 1", ord),
				fmt.Sprintf("UPDATE %s SET n = n * 2 WHERE a = 'ab' AND b = 1", ord),
				fmt.Sprintf("UPDATE %s SET n = n + 1 WHERE k = 'k'", quo),
				fmt.Sprintf("UPDATE %s SET n = n + 1 WHERE k = 'K'", quo),
				fmt.Sprintf("UPDATE %s SET n = COALESCE(n, 0) + 1 WHERE k = 'K'", quo),
				fmt.Sprintf("UPDATE %s SET slot = 9 WHERE k = 'K'", quo),
				"UPDATE site SET hits = hits + 1",
				"UPDATE site SET hits = hits + 1 WHERE name = 'x'",
				"UPDATE site SET hits = hits + 1 WHERE name = 'y'",
				"SELECT hits FROM site WHERE name = 'x'",
				"UPDATE site SET hits = hits * 3",
				fmt.Sprintf("DELETE FROM %s WHERE k = 'K'", quo),
				fmt.Sprintf("INSERT INTO %s VALUES ('K', 3, 1)", quo),
			)
		}
	})
}

// What a slot table is, and what it must not be.
func TestSlotTableFacts(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		schema := map[string][]string{
			"mysql":    {"CREATE TABLE posts (id INT AUTO_INCREMENT PRIMARY KEY, views INT NOT NULL DEFAULT 0)", "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, note TEXT)"},
			"postgres": {"CREATE TABLE posts (id SERIAL PRIMARY KEY, views INT NOT NULL DEFAULT 0)", "CREATE TABLE log (id SERIAL PRIMARY KEY, note TEXT)"},
			"sqlite":   {"CREATE TABLE posts (id INTEGER PRIMARY KEY AUTOINCREMENT, views INT NOT NULL DEFAULT 0)", "CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)"},
		}[dialect]
		p := twin.New(
			t,
			twin.Options{
				Dialect: dialect,
				Schema:  schema,
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			},
		)
		one := pinned(t, p)
		last := map[string]string{"mysql": "SELECT LAST_INSERT_ID()", "postgres": "SELECT currval('log_id_seq'), currval('posts_id_seq')", "sqlite": "SELECT last_insert_rowid()"}[dialect]
		for _, query := range []string{
			"INSERT INTO posts (views) VALUES (1)", "INSERT INTO posts (views) VALUES (1)", "INSERT INTO log (note) VALUES ('a')", "INSERT INTO log (note) VALUES ('b')",
			"INSERT INTO log (note) VALUES ('c')", last,
			"UPDATE posts SET views = views + 1 WHERE id = 1", last, "UPDATE posts SET views = views + 1 WHERE id = 99", last,
			"UPDATE posts SET views = 7 WHERE id = 1", last, "UPDATE posts SET views = views + 1", last, "UPDATE posts SET views = views + 1 WHERE id = 2", last,
			"DELETE FROM posts WHERE id = 2", last, "INSERT INTO posts (views) VALUES (5)", last, "UPDATE posts SET views = views + 1 WHERE id = 3", last,
			"INSERT INTO log (note) SELECT views FROM posts", last, "SELECT id, views FROM posts ORDER BY id",
		} {
			one.same(t, twin.Statement{SQL: query})
		}
		var n int
		if err := p.Under.QueryRow(
			"SELECT COUNT(*) FROM posts_slots WHERE id NOT IN (SELECT id FROM posts)",
		).Scan(&n); err != nil ||
			n != 0 {
			t.Errorf("%d orphans, %v", n, err)
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		execAll(t, p.Under, "DELETE FROM posts WHERE id = 1") // by another program
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE id = 1").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d orphans of a plain delete, %v", n, err)
		}
		switch dialect {
		case "mysql":
			var ddl, name string
			if err := p.Under.QueryRow("SHOW CREATE TABLE posts_slots").Scan(
				&name,
				&ddl,
			); err != nil || strings.Contains(ddl, "AUTO_INCREMENT") ||
				!strings.Contains(ddl, "ON DELETE CASCADE") {
				t.Errorf("%s %v", ddl, err)
			}
		case "sqlite":
			var ddl string
			if err := p.Under.QueryRow("SELECT sql FROM sqlite_schema WHERE name = 'posts_slots'").Scan(&ddl); err != nil ||
				!strings.Contains(ddl, "WITHOUT ROWID") {
				t.Errorf("%s %v", ddl, err)
			}
		}
	})
}

// PostgreSQL fails a prepared statement whose columns have changed, once, and
// the plain driver prepares other statements than the wrapped.
var unprepared = map[string]string{"postgres": "default_query_exec_mode=exec"}

// The schema changes while the application runs.
func TestSchemaChanges(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, unprepared[dialect])
		one, other := pinned(t, p), pinned(t, p)
		all := func(statements ...string) {
			t.Helper()
			for _, query := range statements {
				one.same(t, twin.Statement{SQL: query})
				for _, q := range []string{"SELECT * FROM posts ORDER BY id", "SELECT p.*, l.* FROM posts p LEFT JOIN log l ON l.id = p.id ORDER BY p.id"} {
					other.same(t, twin.Statement{SQL: q})
					one.same(t, twin.Statement{SQL: q})
				}
			}
		}
		all(work[:3]...)
		all("ALTER TABLE posts ADD COLUMN extra INTEGER DEFAULT 4", work[0], work[2], "ALTER TABLE log ADD COLUMN more INTEGER", work[0],
			"ALTER TABLE posts DROP COLUMN extra", work[0], work[2], "ALTER TABLE posts RENAME COLUMN title TO headline", work[0], work[2],
			"ALTER TABLE log RENAME TO log2", "ALTER TABLE log2 RENAME TO log", work[0])
		if dialect != "sqlite" {
			all("TRUNCATE TABLE posts", "INSERT INTO posts (id, views) VALUES (1, 10)", work[0], work[2])
		}
		all("DROP TABLE posts")
		create := "CREATE TABLE posts (headline VARCHAR(100), likes INTEGER, id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)"
		all(create, "INSERT INTO posts (id, views) VALUES (1, 10), (2, 20)")
		all(work[0], work[2], work[0])
		// New connections come up while the table is gone.
		all("DROP TABLE posts")
		third := pinned(t, p)
		third.same(t, twin.Statement{SQL: "SELECT 1"})
		third.same(t, twin.Statement{SQL: create})
		all("INSERT INTO posts (id, views) VALUES (1, 10), (2, 20)", work[0], work[2], work[0])
		if dialect == "mysql" {
			return
		}
		for _, end := range []string{"ROLLBACK", "COMMIT"} { // DDL in a transaction
			one.same(t, twin.Statement{SQL: work[0]})
			for _, query := range []string{"BEGIN", "ALTER TABLE posts ADD COLUMN tx INTEGER", work[0], work[2], "SELECT * FROM posts ORDER BY id", end} {
				one.same(t, twin.Statement{SQL: query})
			}
			all(work[0], work[2])
		}
	})
}

// What another program changes is seen at the latest when an error tells.
func TestSchemaChangedByAnother(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, unprepared[dialect])
		both := both{p.Plain, p.Wrapped}
		reads := []string{"SELECT * FROM posts ORDER BY id", "SELECT views FROM posts WHERE id = 1"}
		for _, ddl := range []string{"ALTER TABLE posts RENAME COLUMN title TO headline", "ALTER TABLE posts DROP COLUMN headline"} {
			for _, q := range append(reads, work[0], work[2]) {
				both.same(t, twin.Statement{SQL: q})
			}
			execAll(t, p.Plain, ddl)
			execAll(t, p.Under, ddl)
			for _, q := range append(reads, work[0], work[2]) {
				both.same(t, twin.Statement{SQL: q})
			}
		}
	})
}

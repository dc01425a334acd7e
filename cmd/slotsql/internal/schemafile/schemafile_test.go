package schemafile_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/slotsql/slotsql/internal/config"
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

// explained is an engine with the schema that its explanations are about.
type explained struct {
	name, driver string
	dialect      dialect.Dialect
	schema       string
	open         func(testing.TB) string
	arg          func(n int) string
}

var explainedEngines = []explained{
	{"mysql", mysql.DriverName, mysql.Dialect(), explainTables, server.MariaDB, func(int) string { return "?" }},
	{
		"postgres",
		postgres.DriverName,
		postgres.Dialect(),
		explainTables,
		server.Postgres,
		func(n int) string { return fmt.Sprintf("$%d", n) },
	},
	{"sqlite", sqlite.DriverName, sqlite.Dialect(), explainTables, server.SQLite, func(int) string { return "?" }},
}

const explainTables = `
CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20),
views BIGINT NOT NULL DEFAULT 0, ratio REAL);
CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20));
CREATE TABLE strict_counts (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
CREATE VIEW popular AS SELECT id, views FROM posts WHERE views > 10;
`

const explainConfig = `
version: 1
auto_migrate: true
tables:
  posts: {counters: {views: , ratio: }}
  strict_counts: {counters: {n: }, on_drain: error}
defaults: {slots: 64, placement: connection}
`

func explainConfigured(t testing.TB) *config.Config {
	t.Helper()
	c, err := config.Parse([]byte(explainConfig), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func explainOffline(t testing.TB, en explained, query string) (*slotsql.Explanation, error) {
	t.Helper()
	x, err := fileOf(t, en).Explainer(explainConfigured(t))
	if err != nil {
		return nil, err
	}
	return x.Explain(query)
}

func fileOf(t testing.TB, en explained) *schemafile.File {
	t.Helper()
	f, err := schemafile.Parse(en.dialect, en.schema)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestExplain(t *testing.T) {
	for _, en := range explainedEngines {
		t.Run(en.name, func(t *testing.T) {
			for _, c := range []struct {
				query string
				class string
				holds string // of the Detailed
				not   string
			}{
				{"SELECT 1", "pass-through", "statement:\n  SELECT 1\nclass:     pass-through\n", "note"},
				{"UPDATE users SET name = 'x'", "pass-through", "", "note"},
				{"UPDATE posts SET title = 'x' WHERE id = 1", "pass-through", "note:   counter posts.ratio is not slotted: sums of floating-point numbers\n", "drain"},
				{"UPDATE posts SET views = views + 1 WHERE id = 7", "additive", "  args:    slot\nfallback:  when no row is affected: drains, then runs the statement\ndrain:     posts, rows of a unique key\n", "requires"},
				{"UPDATE posts SET views = views - " + en.arg(1) + " WHERE slug = " + en.arg(2), "additive", "  args:    slot, -arg 1, arg 2", ""},
				{"UPDATE posts SET views = views + 1", "additive-base", "", "increment"},
				{"UPDATE posts SET ratio = ratio + 1 WHERE id = 7", "", "", "increment"},
				{"SELECT views FROM posts WHERE id = 1", "read", "rewritten:\n  SELECT ", ""},
				{"UPDATE posts SET views = 5 WHERE id = 7", "drain", "drain:     posts, rows of a unique key\n", "rewritten"},
				{"UPDATE posts SET views = 5 WHERE id = 7", "drain", "\nproof:\n  UPDATE posts\n  SET views = 5\n  WHERE (id = 7) AND ", "rewritten"},
				{"UPDATE posts SET views = 5", "drain", "drain:     posts, all rows\n", "proof"},
				{"UPDATE strict_counts SET n = 0", "drain", "table strict_counts has on_drain: error, so the statement is refused", ""},
				{"UPDATE posts SET views = views + 1 WHERE id = 7; SELECT views FROM posts", "multi", "part 2:\n  statement:\n    SELECT views\n    FROM posts\n  class:     read\n", ""},
				{"SELECT * FROM popular", "drain", "drain:     posts, all rows\n", ""},
				{"nonsense about posts", "drain", "reason:    the parser rejects the statement", ""},
			} {
				e, err := explainOffline(t, en, c.query)
				if err != nil {
					t.Errorf("%s: %v", c.query, err)
					continue
				}
				text := e.Detailed(en.dialect)
				if c.class != "" && e.Class != c.class || !strings.Contains(text, c.holds) || c.not != "" && strings.Contains(text, c.not) {
					t.Errorf("%s: want class %s with %q and without %q, got\n%s", c.query, c.class, c.holds, c.not, text)
				}
				if e.Statement != c.query {
					t.Errorf("statement %q, want %q", e.Statement, c.query)
				}
				b, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				var back slotsql.Explanation
				if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(&back, e) {
					t.Errorf("%s: JSON does not come back: %s, %v", c.query, b, err)
				}
			}
		})
	}
}

func TestExplainRefused(t *testing.T) {
	e, err := explainOffline(t, explainedEngines[0], "PREPARE x FROM 'UPDATE posts SET views = 1'")
	if err != nil || e.Class != "refused" || !strings.Contains(e.Reason, "db.Prepare") || e.Rewritten != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestErrors(t *testing.T) {
	config := explainConfigured(t)
	_, err := schemafile.Parse(sqlite.Dialect(), "CREATE TABLE posts (id,,)")
	var schema *sqlfile.Error
	if !errors.As(err, &schema) || schema.Line != 1 {
		t.Error(err)
	}
	f, err := schemafile.Parse(sqlite.Dialect(), "CREATE TABLE users (id INT)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Explainer(config)
	if !errors.Is(err, slotsql.ErrConfig) || !strings.Contains(err.Error(), "slotsql.yaml:5: table \"posts\": does not exist") {
		t.Error(err)
	}
}

// Setting up, explaining live and explaining from a schema file agree.
func TestSetup(t *testing.T) {
	for _, en := range explainedEngines {
		t.Run(en.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			dsn := en.open(t)
			c, err := slotsql.OpenConnector(en.driver, dsn, slotsql.WithConfig(slotsql.ConfigOf(explainConfigured(t))))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := slotsql.Check(ctx, c); !errors.Is(err, slotsql.ErrConfig) || strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("two missing tables: %v", err)
			}
			plain := plainDB(t, en, dsn)
			for _, q := range strings.Split(strings.TrimSpace(en.schema), ";\n") {
				if q = strings.TrimSuffix(q, ";"); q != "" {
					if _, err := plain.ExecContext(ctx, q); err != nil {
						t.Fatal(q, err)
					}
				}
			}
			tables, err := slotsql.Check(ctx, c)
			if err != nil || len(tables) != 2 || !tables[0].Missing ||
				tables[0].Counters[0] != (slotsql.CounterStatus{Column: "views", Slotted: true}) ||
				tables[0].Counters[1].Slotted {
				t.Fatalf("%+v, %v", tables, err)
			}
			queries := []string{
				"SELECT views FROM posts WHERE id = 1",
				"UPDATE posts SET views = views + 1 WHERE id = 7",
				"DELETE FROM posts",
				"SELECT * FROM posts, users",
				"SELECT * FROM popular",
				"SELECT 1",
			}
			x, err := slotsql.NewExplainer(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			var before []string
			for _, q := range queries {
				e, err := x.Explain(q)
				if err != nil {
					t.Fatal(err)
				}
				before = append(before, e.String())
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			if tables, err := slotsql.Check(ctx, c); err != nil || !tables[0].Missing {
				t.Errorf("explaining has created slot tables: %+v, %v", tables, err)
			}
			ddl, err := slotsql.DDL(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			created, err := slotsql.Migrate(ctx, c)
			want := []string{"posts_slots", "strict_counts_slots"}
			if _, ok := en.dialect.(dialect.Leaser); ok {
				want = append([]string{dialect.LeaseTable}, want...)
			}
			if err != nil || !reflect.DeepEqual(created, want) {
				t.Fatalf("%v, %v", created, err)
			}
			if created, err := slotsql.Migrate(ctx, c); err != nil || len(created) > 0 {
				t.Errorf("%v, %v", created, err)
			}
			if tables, err := slotsql.Check(ctx, c); err != nil || tables[0].Missing {
				t.Errorf("%+v, %v", tables, err)
			}
			if again, err := slotsql.DDL(ctx, c); err != nil || !reflect.DeepEqual(again, ddl) {
				t.Errorf("DDL changes: %v, %v", again, err)
			}
			offline, err := fileOf(t, en).DDL(explainConfigured(t))
			if err != nil || len(offline) != len(ddl) {
				t.Errorf("%v, %v", offline, err)
			}
			db := sql.OpenDB(c)
			defer db.Close()
			for i, q := range queries {
				live, err := slotsql.Explain(ctx, db, q)
				if err != nil {
					t.Fatal(err)
				}
				if live.String() != before[i] {
					t.Errorf("%s\nthrough a pool\n%s\nbefore\n%s", q, live, before[i])
				}
				file, err := explainOffline(t, en, q)
				if err != nil {
					t.Fatal(err)
				}
				if file.Class != live.Class || file.Reason != live.Reason {
					t.Errorf("%s\nfrom the schema\n%s\nlive\n%s", q, file, live)
				}
			}
			if _, err := slotsql.Explain(ctx, plain, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "needs a wrapped database") {
				t.Error(err)
			}
		})
	}
}

// plainDB opens the same database with the parent driver.
func plainDB(t testing.TB, en explained, dsn string) *sql.DB {
	t.Helper()
	name := map[string]string{"postgres": "pgx"}[en.name]
	if name == "" {
		name = en.name
	}
	db, err := sql.Open(name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

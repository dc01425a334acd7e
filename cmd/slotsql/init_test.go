package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/integration/server"
)

// rememberingEngines remember what they have run, where they can.
var rememberingEngines = []struct {
	driver, parent string
	dsn            func(testing.TB) (dsn string, remembers bool)
	source         string
}{
	{"mysql", "mysql", server.MariaDBStatistics, "performance_schema.events_statements_summary_by_digest"},
	{"postgres", "pgx", server.PostgresStatistics, "pg_stat_statements"},
	{"sqlite", "sqlite", func(t testing.TB) (string, bool) { return server.SQLite(t), false }, "statement statistics"},
}

// The tables of an application, with everything that init has a word for, and
// its statements, each with how often it is run.
var (
	appTables = []string{
		"CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, title VARCHAR(200) NOT NULL DEFAULT '', views BIGINT NOT NULL DEFAULT 0, likes BIGINT, status INT NOT NULL DEFAULT 0, shares_count INT NOT NULL DEFAULT 0)",
		"CREATE INDEX posts_by_views ON posts (views)",
		"CREATE VIEW popular AS SELECT id, views FROM posts WHERE views > 100",
		"CREATE TABLE users (name VARCHAR(40) NOT NULL UNIQUE, karma INT NOT NULL DEFAULT 0, seen_at TIMESTAMP NULL, mail VARCHAR(100))",
		"CREATE TABLE documents (id INT NOT NULL PRIMARY KEY, version INT NOT NULL DEFAULT 0, body VARCHAR(100))",
		"CREATE TABLE stock (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, CHECK (amount >= 0))",
		"CREATE TABLE goods (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL)",
		"CREATE TABLE ranks (id INT NOT NULL PRIMARY KEY, place BIGINT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0)",
		"CREATE TABLE audited (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)",
		"CREATE TABLE derived (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0, twice BIGINT GENERATED ALWAYS AS (n * 2) STORED)",
		"CREATE TABLE site (hits BIGINT NOT NULL DEFAULT 0)",
		"CREATE TABLE events (kind VARCHAR(20), hits BIGINT NOT NULL DEFAULT 0)",
		"CREATE TABLE quiet (id INT NOT NULL PRIMARY KEY, download_count INT NOT NULL DEFAULT 0, total_amount INT NOT NULL DEFAULT 0)",
	}
	appRows     = []string{"INSERT INTO posts (id, likes) VALUES (1, 0)", "INSERT INTO site VALUES (0)"}
	appTriggers = map[string][]string{
		"mysql": {"CREATE TRIGGER audit AFTER UPDATE ON audited FOR EACH ROW SET @audited = 1"},
		"postgres": {
			"CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
			"CREATE TRIGGER audit AFTER UPDATE ON audited FOR EACH ROW EXECUTE FUNCTION audit()",
		},
		"sqlite": {"CREATE TRIGGER audit AFTER UPDATE ON audited BEGIN SELECT 1; END"},
	}
	appStatements = []struct {
		runs int
		text string
	}{
		{9, "UPDATE posts SET views = views + 1 WHERE id = 1"},
		{3, "UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = 1"},
		{2, "SELECT views FROM popular WHERE id = 1"},
		{2, "UPDATE posts SET title = 'a secret', views = 12, status = 1 WHERE id = 1"},
		{4, "UPDATE posts SET status = 1 - status WHERE id = 1"},
		{7, "UPDATE users SET karma = karma + 2, seen_at = CURRENT_TIMESTAMP WHERE name = 'ann'"},
		{5, "UPDATE documents SET version = version + 1, body = 'x' WHERE id = 1 AND version = 3"},
		{4, "UPDATE stock SET amount = amount - 1 WHERE id = 1"},
		{4, "UPDATE goods SET amount = amount - 1 WHERE id = 1 AND amount >= 1"},
		{2, "UPDATE goods SET amount = amount + 10 WHERE id = 1"},
		{3, "UPDATE ranks SET place = place + 1 WHERE id = 1"},
		{3, "UPDATE ranks SET n = n + 1 WHERE id = 1"},
		{4, "UPDATE audited SET n = n + 1 WHERE id = 1"},
		{4, "UPDATE derived SET n = n + 1 WHERE id = 1"},
		{6, "UPDATE site SET hits = hits + 1"},
		{1, "UPDATE posts SET views = 0 FROM WHERE )) title = 'a secret'"},
		{6, "UPDATE events SET hits = hits + 1 WHERE kind = 'x'"},
	}
)

// application makes the application's tables and, where the server remembers,
// runs its statements; it returns a file of them where the server keeps none.
func application(t *testing.T, driver, parent, dsn string, remembers bool) (file string) {
	t.Helper()
	db, err := sql.Open(parent, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if driver == "postgres" && remembers {
		exec("CREATE EXTENSION pg_stat_statements")
	}
	for _, query := range slices.Concat(appTables, appTriggers[driver], appRows) {
		exec(query)
	}
	text := ""
	for _, s := range appStatements {
		for range s.runs {
			if remembers && !strings.Contains(s.text, "))") { // which is no SQL
				exec(s.text)
			}
			text += "2026-11-21 22:43:30.787 UTC [1] LOG:  statement: " + s.text + "\n"
		}
	}
	if remembers {
		return ""
	}
	return write(t, "statements.log", text)
}

// What init proposes of an application that has run, and what it says of the
// rest; the proposal loads and passes check.
func TestInit(t *testing.T) {
	for _, e := range rememberingEngines {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn, remembers := e.dsn(t)
			file := application(t, e.driver, e.parent, dsn, remembers)
			output := filepath.Join(t.TempDir(), "slotsql.yaml")
			args := []string{"init", "--driver", e.driver, "--dsn", dsn, "--output", output}
			if file != "" {
				args = append(args, "--sql", file)
			}
			stdout, stderr, code := command(t, "", append(args, "--json")...)
			if code != exitOK || stderr != "" {
				t.Fatalf("%d %s", code, stderr)
			}
			var r initReport
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(output); err != nil || string(text) != r.Config {
				t.Errorf("%v: the file is not what the JSON holds", err)
			}
			says := func(what string, all string, parts ...string) {
				t.Helper()
				for _, p := range parts {
					if !strings.Contains(all, p) {
						t.Errorf("%s: no %q in\n%s", what, p, all)
					}
				}
			}
			sources := strings.Join(r.Sources, "\n")
			if remembers {
				says("sources", sources, "Statements of "+e.source+": ")
			} else {
				says(
					"sources",
					sources,
					"No statements from "+e.source+": ",
					"Statements of statements.log: 69, 17 different ones (log of PostgreSQL).",
				)
			}
			if strings.Contains(stdout, "secret") {
				t.Errorf("values of the application's in\n%s", r.Config)
			}

			on := map[string][]string{}
			at := map[string]*propose.Proposal{}
			for _, p := range r.Tables {
				at[p.Table] = p
				for _, c := range p.Counters {
					if p.Proposed(c.Column) {
						on[p.Table] = append(on[p.Table], c.Column)
					}
				}
			}
			for table, want := range map[string][]string{
				"posts": {"likes", "views"}, "users": {"karma"}, "ranks": {"n"}, "site": {"hits"},
				"stock": {"amount"}, "goods": {"amount"},
				"derived": nil, "documents": nil, "audited": nil, "events": nil, "quiet": nil,
			} {
				if got := slices.Sorted(slices.Values(on[table])); !slices.Equal(got, want) {
					t.Errorf("%s: proposed are %v, want %v", table, got, want)
				}
				if at[table] == nil {
					t.Fatalf("%s is not named in\n%s", table, r.Config)
				}
			}
			runs := func(table, column string) int64 {
				for _, c := range at[table].Counters {
					if c.Column == column {
						return c.Runs
					}
				}
				return -1
			}
			if v, k := runs("posts", "views"), runs("users", "karma"); v != 9 || k != 7 {
				t.Errorf("views: %d runs, karma: %d", v, k)
			}
			none := e.driver == "sqlite" // where no table has slots
			if n := strings.Count(r.Config, "\n    slots: 0 # "); none && n != 6 || !none && n != 2 {
				t.Errorf("%d tables have slots: 0 in\n%s", n, r.Config)
			}
			for _, p := range r.Tables {
				want := none || slices.Contains([]string{"stock", "goods"}, p.Table)
				if got := p.Slotless != ""; len(on[p.Table]) > 0 && got != want {
					t.Errorf("%s: slots: 0 is proposed: %v, want %v", p.Table, got, want)
				}
			}
			if p := at["posts"]; r.Tables[0] != p || !none && (!slices.Equal(p.Views, []string{"popular"}) || len(p.Slow) < 2) {
				t.Errorf("posts: %+v, behind %s", p, r.Tables[0].Table)
			}
			if u := at["users"]; !slices.Equal(u.Key, []string{"name"}) ||
				!none && !slices.Equal(u.Companions, []propose.Companion{{Column: "seen_at", Merge: "latest"}}) {
				t.Errorf("users: %+v", u)
			}
			if at["site"].Key == nil || len(at["site"].Key) != 0 {
				t.Errorf("site: key %v", at["site"].Key)
			}
			if !at["quiet"].Guess || len(at["quiet"].Counters) != 2 {
				t.Errorf("quiet: %+v", at["quiet"])
			}
			says(
				"text",
				r.Config,
				"With it the statements run as: ",
				"\n#      shares_count: # not proposed: no statement that was seen writes it; named like a counter",
				"key: [name]",
				"a version column: WHERE compares it",
				"a trigger fires on UPDATE",
				"it has no unique key of columns that are never NULL",
				"\n#    key: []\n",
				"assumed to be a table that only ever has one row",
				"Guesses from the names, types and defaults",
			)
			if none {
				says("text", r.Config, "one connection writes at a time, so slots would wait")
			} else {
				says("text", r.Config, "views: # 9 runs; indexed: ", "likes: # 3 runs; nullable: ", "views: [popular]",
					"saving the whole row writes the counter back", "seen_at: latest", "slots: 0 # overlapping increments are grouped on the base row, and nothing drains",
					"not slotted: more runs would drain (4) than go to slots (2): the statement reads a counter", "a CHECK constraint uses the column's base value: for slots replace it by min: 0 and",
					"is part of the unique key")
			}

			on2 := []string{"--driver", e.driver, "--dsn", dsn, "--config", output}
			uncommented(t, r.Config, on2[:4:4])
			for _, args := range [][]string{{"check", "--fail-on", "never", "--sql", write(t, "s.sql", "SELECT 1;")}, {"migrate"},
				{"check"}, {"explain",
					"UPDATE site SET hits = hits + 1"}} {
				stdout, stderr, code := command(t, "", append(args, on2...)...)
				if code != exitOK || stderr != "" {
					t.Errorf("%v: %d %s %s\n%s", args, code, stderr, stdout, r.Config)
				}
			}
			// Slot tables are none of the application's.
			stdout, stderr, code = command(t, "", append(args, "--json", "--force")...)
			var again initReport
			if err := json.Unmarshal([]byte(stdout), &again); err != nil || code != exitOK || stderr != "" ||
				len(again.Tables) != len(r.Tables) {
				t.Errorf("after migrate: %v %d %s: %d tables, before it %d", err, code, stderr, len(again.Tables), len(r.Tables))
			}
			for _, p := range again.Tables {
				for _, c := range p.Counters {
					if p.Proposed(c.Column) != slices.Contains(on[p.Table], c.Column) {
						t.Errorf("after migrate: %s.%s is proposed or not, before it otherwise: %s %s", p.Table, c.Column, p.Off, c.Off)
					}
				}
			}
		})
	}
}

// Without statements there are guesses only, all of them comments.
func TestInitGuesses(t *testing.T) {
	for _, e := range testedEngines {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn := e.dsn(t)
			application(t, e.driver, e.parent, dsn, false)
			output := filepath.Join(t.TempDir(), "slotsql.yaml")
			stdout, stderr, code := command(t, "", "init", "--driver", e.driver, "--dsn", dsn, "--output", output)
			if code != exitOK || stderr != "" || !strings.Contains(stdout, "No statements are available") ||
				!strings.Contains(stdout, "0 counters of 0 tables proposed") {
				t.Fatalf("%d %s %s", code, stderr, stdout)
			}
			text, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"\ntables:\n", "\n#  posts:\n", "\n#      views: # named like a counter, and NOT NULL with a default; indexed", "\n#      shares_count: # ",
				"\n#  quiet:\n", "\n#      total_amount: # named like an amount, and NOT NULL with a default\n", "\n#  events:\n"} {
				if !strings.Contains(string(text), part) {
					t.Errorf("no %q in\n%s", part, text)
				}
			}
			for _, part := range []string{"status", "documents", "place:"} {
				if strings.Contains(string(text), part) {
					t.Errorf("%q in\n%s", part, text)
				}
			}
			base := []string{"--driver", e.driver, "--dsn", dsn}
			if stdout, stderr, code := command(t, "", append(base, "check", "--config", output)...); code != exitOK || stdout != "no problems\n" {
				t.Errorf("%d %s %s", code, stderr, stdout)
			}
			uncommented(t, string(text), base)
			// A table without a key cannot have counters once it has several rows: that is no line to uncomment.
			db, err := sql.Open(e.parent, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), "INSERT INTO events (kind) VALUES ('a'), ('b')"); err != nil {
				t.Fatal(err)
			}
			printed, stderr, code := command(t, "", append(base, "init")...)
			if code != exitOK || strings.Contains(printed, "#  events:") || !strings.Contains(printed, "\n  # events: ") {
				t.Errorf("%d %s %s", code, stderr, printed)
			}
			uncommented(t, printed, base)
		})
	}
}

// uncommented makes every line of the configuration that is a comment for now one of the configuration, as a
// person would by removing the # at its beginning, and checks the result.
func uncommented(t *testing.T, text string, base []string) {
	t.Helper()
	base = slices.Clip(base)
	lines := strings.Split(text, "\n")
	tables := slices.Index(lines, "tables:")
	for i, line := range lines {
		if i > tables && tables >= 0 {
			lines[i] = strings.TrimPrefix(line, "#")
		}
	}
	all := strings.Join(lines, "\n")
	stdout, stderr, code := command(t, "", append(base, "check", "--config", write(t, "slotsql.yaml", all))...)
	if code != exitOK || stdout == "no problems\n" && strings.Contains(text, "\n#  ") {
		t.Errorf("%d %s %s\n%s", code, stderr, stdout, all)
	}
}

func TestInitUsage(t *testing.T) {
	there := write(t, "slotsql.yaml", "mine\n")
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	schema := []string{"init", "--driver", "mysql", "--schema", "testdata/schema.sql"}
	for _, c := range []struct {
		args   []string
		code   int
		stdout string // a part
		stderr string
	}{
		{[]string{"init"}, 2, "", "slotsql: --driver is missing: mysql, postgres or sqlite\n"},
		{[]string{"init", "--driver", "mysql"}, 2, "", "slotsql: --dsn or --schema is missing: name a database or a file of CREATE TABLE statements\nA DSN for --driver mysql looks like this: user:password@tcp(localhost:3306)/app\n"},
		{append(schema, "--dsn", "x"), 2, "", "slotsql: --dsn and --schema are both given: leave one out\n"},
		{append(schema, "--force"), 2, "", "slotsql: --force is given without --output: name the file to write\n"},
		{append(schema, "--output", there), 2, "", "slotsql: " + there + " already exists: name another file, or overwrite it with --force\n"},
		{append(schema, "--config", there), 2, "", "slotsql: init has no --config: name the file to write with --output\n"},
		{append(schema, "--sql", "absent.sql"), 2, "", "slotsql: open absent.sql: no such file or directory\n"},
		{[]string{"init", "--driver", "sqlite", "--dsn", "absent.db"}, 2, "", "slotsql: stat absent.db: no such file or directory\nA DSN for --driver sqlite looks like this: app.db\n"},
		{[]string{"init", "--driver", "sqlite", "--dsn", empty}, 0, "# Proposed by slotsql init for empty.db.\n# Tables: 0.\n", ""},
		{schema, 0, "tables:\n\n  # Guesses from", ""},
		{append(schema, "--sql", "-"), 0, "Statements of standard input: 1, 1 different ones (SQL, statements end with ;).", ""},
		{append(schema, "--output", there, "--force"), 0, "0 counters of 0 tables proposed; as comments: 0 tables with the reason against it, guesses at 1 table\n", ""},
	} {
		stdout, stderr, code := command(t, "UPDATE posts SET views = views + 1 WHERE id = 1", c.args...)
		if code != c.code || stderr != c.stderr || !strings.Contains(stdout, c.stdout) || c.stdout == "" && stdout != "" {
			t.Errorf("%v: %d %s %s", c.args, code, stderr, stdout)
		}
	}
	if text, err := os.ReadFile(there); err != nil || !strings.HasPrefix(string(text), "# Proposed by slotsql init") {
		t.Errorf("%v %s", err, text)
	}
	for _, c := range []struct{ driver, dsn string }{
		{"mysql", "root:s3cret@tcp(127.0.0.1:1)/app"}, {"postgres", "postgres://u:s3cret@127.0.0.1:1/app?connect_timeout=1"},
	} {
		stdout, stderr, code := command(t, "", "init", "--driver", c.driver, "--dsn", c.dsn)
		if code != exitError || stderr == "" || strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("%s: %d %s %s", c.driver, code, stderr, stdout)
		}
	}
}

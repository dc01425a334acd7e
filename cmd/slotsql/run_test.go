package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// command runs one command line in this process.
func command(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	if strings.Contains(out.String(), "0001-01-01") { // a time that there is not
		t.Errorf("%v: %s", args, &out)
	}
	return out.String(), errs.String(), code
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const config = "testdata/slotsql.yaml"

func TestOffline(t *testing.T) {
	t.Setenv("SLOTSQL_CONFIG", "")
	offline := func(driver string, args ...string) []string {
		return append(args, "--driver", driver, "--schema", "testdata/schema.sql", "--config", config)
	}
	for _, c := range []struct {
		name   string
		stdin  string
		args   []string
		code   int
		stdout string // its beginning, or all when it ends with a line end
		stderr string // all; a beginning when it ends with ...
	}{
		{"version", "", []string{"version"}, 0, "slotsql " + version() + "\n", ""},
		{"version as a flag", "", []string{"--version"}, 0, "slotsql " + version() + "\n", ""},
		{"no command", "", nil, 2, "slotsql works on the counter tables named in slotsql.yaml. Start with init", ""},
		{"help", "", []string{"explain", "--help"}, 0, "Show how slotsql runs a statement: a verdict", ""},
		{"completion", "", []string{"completion", "bash"}, 0, "# bash completion", ""},
		{"init help", "", []string{"init", "--help"}, 0, "Propose a configuration: find the columns", ""},
		{"driver completion", "", []string{"__complete", "check", "--driver", ""}, 0, "mysql\npostgres\nsqlite\n:4\n", "..."},
		{"unknown command", "", []string{"frobnicate"}, 2, "", "slotsql: unknown command \"frobnicate\" for \"slotsql\"\n"},
		{"mistyped command with flags", "", []string{"chek", "--driver", "postgres", "--dsn", "x"}, 2, "", "slotsql: unknown command \"chek\" for \"slotsql\": did you mean check?\n"},
		{"mistyped command", "", []string{"chek"}, 2, "", "slotsql: unknown command \"chek\" for \"slotsql\": did you mean check?\n"},
		{"unknown flag", "", []string{"check", "--frobnicate"}, 2, "", "slotsql: unknown flag: --frobnicate\n"},
		{"arguments", "", []string{"check", "all"}, 2, "", "slotsql: unknown command \"all\" for \"slotsql check\"\n"},

		{"mysql", "", offline("mysql", "explain", "SELECT title FROM posts"), 0, "As plain: slots of posts do not concern it.\nnote:   counter posts.ratio is not slotted: sums of floating-point numbers\n        depend on their order\n", ""},
		{"postgres", "", offline("postgres", "explain", "UPDATE posts SET views = views + $1 WHERE id = $2"), 0, "Fast: overlapping executions share a statement, and a hot row counts in slots.\nasleep: ", ""},
		{"sql", "", offline("postgres", "explain", "--sql", "UPDATE posts SET views = views + ? WHERE id = ?"), 0, "Fast: overlapping executions share a statement, and a hot row counts in slots.\nasleep: ", ""},
		{"a comment first", "", offline("postgres", "explain", "-- name: Count\nUPDATE posts SET views = views + 1 WHERE id = $1"), 0, "Fast: ", ""},
		{"empty", " ; -- nothing\n", offline("mysql", "explain", "-"), 1, "", "slotsql: the statement is empty\n"},
		{"no SQL", "", offline("mysql", "explain", "UPDAT posts SET views = 1"), 1, "", "slotsql: the statement does not parse: ..."},
		{"unknown table", "", offline("postgres", "explain", "UPDATE psots SET views = views + 1"), 1, "", "slotsql: unknown table psots\n"},
		{"unknown column", "", offline("sqlite", "explain", "UPDATE posts SET vews = 1"), 1, "", "slotsql: unknown column vews: the tables are posts\n"},
		{"sqlite", "", offline("sqlite", "explain", "DELETE FROM other"), 1, "", "slotsql: unknown table other\n"},
		{"stdin", "SELECT 1", offline("sqlite", "explain", "-"), 0, "As plain: it names no configured table.\n", ""},
		{"json", "SELECT '<&>'", offline("sqlite", "explain", "-", "--json"), 0,
			"{\n  \"statement\": \"SELECT '<&>'\",\n  \"verdict\": \"As plain: it names no configured table.\",\n  \"speed\": \"as plain\",\n  \"class\": \"pass-through\"\n}\n", ""},
		{"no statement", "", offline("sqlite", "explain"), 2, "", "slotsql: explain takes one statement, in quotes, or - to read it from standard input; got 0 arguments\n"},
		{"unquoted", "", offline("sqlite", "explain", "SELECT", "1"), 2, "", "slotsql: explain takes one statement, in quotes, or - to read it from standard input; got 2 arguments\n"},
		{"ddl", "", offline("postgres", "ddl"), 0, "-- The foreign key takes SHARE ROW EXCLUSIVE on posts until the commit: ", ""},
		{"ddl without foreign keys", "", offline("mysql", "ddl", "--no-foreign-keys"), 0, "-- Takes no lock on posts: no foreign key. A DELETE of its rows through slotsql drains first.\nCREATE TABLE IF NOT EXISTS `posts_slots` (", ""},
		{"both ways", "", []string{"migrate", "--down", "--no-foreign-keys", "--driver", "sqlite", "--dsn", "x", "--config", config}, 2, "", "slotsql: if any flags in the group [down no-foreign-keys]..."},
		{"ddl json", "", offline("mysql", "ddl", "--json"), 0, "{\n  \"statements\": [\n    \"-- On MariaDB the foreign key does not wait. ", ""},

		{"no driver", "", []string{"check", "--dsn", "x"}, 2, "", "slotsql: --driver is missing: mysql, postgres or sqlite\n"},
		{"unknown driver", "", []string{"check", "--driver", "oracle"}, 2, "", "slotsql: --driver must be mysql, postgres or sqlite, got \"oracle\"\n"},
		{"another name of a driver", "", []string{"check", "--driver", "postgresql", "--dsn", "x"}, 2, "", "slotsql: --driver must be mysql, postgres or sqlite, got \"postgresql\": did you mean postgres?\n"},
		{"a short name of a driver", "", []string{"doctor", "--driver", "pg", "--dsn", "x"}, 2, "", "slotsql: --driver must be mysql, postgres or sqlite, got \"pg\": did you mean postgres?\n"},
		{"a version of a driver", "", []string{"init", "--driver", "sqlite3", "--dsn", "x"}, 2, "", "slotsql: --driver must be mysql, postgres or sqlite, got \"sqlite3\": did you mean sqlite?\n"},
		{"no DSN of MySQL", "", []string{"doctor", "--driver", "mysql", "--dsn", "localhost"}, 2, "", "slotsql: invalid DSN: missing the slash separating the database name\nA DSN for --driver mysql looks like this: user:password@tcp(localhost:3306)/app\n"},
		{"no DSN of PostgreSQL", "", []string{"status", "--driver", "postgres", "--dsn", "local host"}, 2, "", "slotsql: cannot parse `local host`..."},
		{"no server", "", []string{"check", "--driver", "mysql", "--dsn", "root@tcp(127.0.0.1:1)/app", "--config", config}, 2, "", "slotsql: dial tcp 127.0.0.1:1: connect: connection refused\nA DSN for --driver mysql looks like this: user:password@tcp(localhost:3306)/app\n"},
		{"no database", "", []string{"migrate", "--driver", "mysql"}, 2, "", "slotsql: --dsn is missing: name the database, with --dsn, --dsn-file or SLOTSQL_DSN\nA DSN for --driver mysql looks like this: user:password@tcp(localhost:3306)/app\n"},
		{"no tables", "", []string{"ddl", "--driver", "mysql"}, 2, "", "slotsql: --dsn or --schema is missing: name a database or a file of CREATE TABLE statements\nA DSN for --driver mysql looks like this: user:password@tcp(localhost:3306)/app\n"},
		{"both", "", offline("mysql", "ddl", "--dsn", "x"), 2, "", "slotsql: --dsn and --schema are both given: leave one out\n"},
		{"no configuration", "", []string{"check", "--driver", "sqlite", "--dsn", "x"}, 2, "", "slotsql: config: no configuration found: propose one with `slotsql init --output slotsql.yaml`, set SLOTSQL_CONFIG to the path of one, put slotsql.yaml into the working directory, or pass one in code with slotsql.WithConfig: file does not exist\n"},
		{"absent configuration", "", []string{"check", "--driver", "sqlite", "--dsn", "x", "--config", "absent.yaml"}, 2, "", "slotsql: config: open absent.yaml: no such file or directory\n"},
		{"absent schema", "", []string{"ddl", "--driver", "sqlite", "--schema", "absent.sql", "--config", config}, 2, "", "slotsql: open absent.sql: no such file or directory\n"},
		{"absent database", "", []string{"migrate", "--driver", "sqlite", "--dsn", "absent.db", "--config", config}, 2, "", "slotsql: stat absent.db: no such file or directory\nA DSN for --driver sqlite looks like this: app.db\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := command(t, c.stdin, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.HasPrefix(stdout, c.stdout) || c.stdout == "" && stdout != "" ||
				strings.HasSuffix(c.stdout, "\n") && stdout != c.stdout {
				t.Errorf("stdout\n%s\nwant\n%s", stdout, c.stdout)
			}
			if beginning, ok := strings.CutSuffix(c.stderr, "..."); ok && !strings.HasPrefix(stderr, beginning) ||
				!ok && stderr != c.stderr {
				t.Errorf("stderr\n%s\nwant\n%s", stderr, c.stderr)
			}
		})
	}
}

// Problems of the configuration are told apart from other errors.
func TestProblems(t *testing.T) {
	invalid := write(t, "slotsql.yaml", "version: 1\ntables:\n  posts: {counters: {views: }, slots: 5000}\n  other: {counters: {}}\n")
	wrong := write(t, "slotsql.yaml", "version: 1\ntables:\n  posts: {counters: {seen: }}\n  absent: {counters: {n: }}\n")
	schema := write(t, "schema.sql", "CREATE TABLE other (id INT);\n\nCREATE TABLE posts (id INT,,);\n")

	_, stderr, code := command(t, "", "explain", "SELECT 1", "--driver", "mysql", "--schema", "testdata/schema.sql", "--config", invalid)
	if code != exitProblems || strings.Count(stderr, "slotsql.yaml:") != 2 {
		t.Errorf("%d %s", code, stderr)
	}
	_, stderr, code = command(t, "", "ddl", "--driver", "mysql", "--schema", "testdata/schema.sql", "--config", wrong)
	if code != exitProblems || strings.Count(stderr, "slotsql.yaml:") != 2 || !strings.Contains(stderr, `counter "seen" is not a column`) {
		t.Errorf("%d %s", code, stderr)
	}
	_, stderr, code = command(t, "", "ddl", "--driver", "postgres", "--schema", schema, "--config", config)
	if code != exitError || !strings.HasPrefix(stderr, "slotsql: "+schema+":3: CREATE TABLE posts (id INT,,): ") {
		t.Errorf("%d %s", code, stderr)
	}
	db := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"check", "--json"}} {
		stdout, stderr, code := command(t, "", append(args, "--driver", "sqlite", "--dsn", db, "--config", wrong)...)
		if code != exitProblems || stderr != "" || strings.Count(stdout, "does not exist in the database") != 2 {
			t.Errorf("%v: %d %s %s", args, code, stdout, stderr)
		}
		if len(args) > 1 {
			var r report
			if err := json.Unmarshal(
				[]byte(stdout),
				&r,
			); err != nil || len(r.Problems) != 2 || r.Problems[0].Line != 3 || r.Problems[0].Path != "tables.posts" ||
				r.Tables == nil {
				t.Errorf("%+v %v", r, err)
			}
		}
	}
}

// withSchema opens a database by its plain driver, and makes the tables of an application in it.
func withSchema(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), string(schema)); err != nil {
		t.Fatal(err)
	}
	return db
}

// From an application's database to a wrapped one.
func TestDatabase(t *testing.T) {
	for _, e := range []struct {
		driver, parent string
		dsn            func(testing.TB) string
	}{{"mysql", "mysql", server.MariaDB}, {"postgres", "pgx", server.Postgres}, {"sqlite", "sqlite", server.SQLite}} {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn := e.dsn(t)
			withSchema(t, e.parent, dsn)
			with := func(args ...string) []string {
				return append(args, "--driver", e.driver, "--dsn", dsn, "--config", config)
			}
			expect := func(code int, stdout, stderr string, args ...string) string {
				t.Helper()
				out, errs, got := command(t, "", with(args...)...)
				if args[0] == "migrate" { // which has one warning
					warning, rest, _ := strings.Cut(errs, "\n")
					if !strings.Contains(warning, "counter ratio is not slotted") || json.Valid([]byte(warning)) != (args[len(args)-1] == "--json") {
						t.Errorf("%v: %s", args, warning)
					}
					errs = rest
				}
				if got != code || !strings.HasPrefix(out, stdout) || errs != stderr {
					t.Errorf(
						"%v: exit code %d, want %d\nstdout\n%s\nwant\n%s\nstderr\n%s\nwant\n%s",
						args,
						got,
						code,
						out,
						stdout,
						errs,
						stderr,
					)
				}
				return out
			}
			missing := config + `:3: table "posts": slot table "posts_slots" is missing: run ` + "`slotsql migrate --driver " + e.driver + " --dsn '" + dsn + "' --config " + config + "`, or set auto_migrate: true\n"
			expect(1, missing, "", "check")
			before := expect(
				0,
				"Fast: overlapping executions share a statement, and a hot row counts in slots.\n",
				"",
				"explain",
				"UPDATE posts SET views = views + 1 WHERE id = 1",
			)
			for query, unknown := range map[string]string{
				"UPDAT posts SET views = 1": "UPDAT", "UPDATE psots SET views = views + 1": "psots", "SELECT vews FROM posts": "vews",
				"UPDATE posts SET views = views + ? WHERE idd = ?": "idd",
			} {
				out, errs, code := command(t, "", with("explain", query)...)
				if code != exitProblems || out != "" || !strings.Contains(errs, unknown) {
					t.Errorf("%s: %d %s %s", query, code, out, errs)
				}
			}
			expect(0, "Fast: ", "", "explain", "UPDATE posts SET views = views + ? WHERE id = ?")
			out, errs, code := command(t, "", "explain", "UPDATE posts SET views = views + 1 WHERE id = 1", "--driver", e.driver, "--dsn", dsn,
				"--config", write(t, "slotsql.yaml", "version: 1\ntables: {}\n"))
			if code != 0 || !strings.HasPrefix(out, "As plain: table posts is not configured: add its counters to slotsql.yaml:\n    tables:\n      posts:\n") {
				t.Errorf("%d %s %s", code, out, errs)
			}
			if e.driver == "mysql" { // whose parser does not know what the server takes
				const table = "SELECT views FROM posts, JSON_TABLE('[1]', '$[*]' COLUMNS (x INT PATH '$')) j WHERE posts.id = j.x"
				expect(0, "Slower: while posts is awake, all slots of posts are folded first, because\nslotsql cannot parse it ", "", "explain", table)
			}
			ddl := expect(0, "", "", "ddl")
			if !strings.Contains(ddl, "posts_slots") {
				t.Errorf("ddl: %s", ddl)
			}
			expect(1, missing, "", "check") // nothing has created it

			var wait sync.WaitGroup
			for range 4 { // as when a fleet is deployed
				wait.Go(func() {
					if _, errs, code := command(t, "", with("migrate")...); code != 0 {
						t.Errorf("migrate: %d %s", code, errs)
					}
				})
			}
			wait.Wait()
			if out := expect(0, "", "", "migrate"); out != "all slot tables exist\n" {
				t.Errorf("migrate: %s", out)
			}
			const ok = "posts: key [id], 64 slots in posts_slots\n  views: slotted\n  ratio: not slotted: sums of floating-point numbers depend on their order\nno problems\n"
			if out := expect(0, "", "", "check"); out != ok {
				t.Errorf("check: %s", out)
			}
			if after := expect(0, "", "", "explain", "UPDATE posts SET views = views + 1 WHERE id = 1"); after != before {
				t.Errorf("explain changes\n%s\n%s", before, after)
			}
			for _, args := range [][]string{{"check", "--json"}, {"migrate", "--json"}, {"ddl", "--json"}, {"explain",
				"SELECT views FROM posts", "--json"}} {
				if out := expect(0, "{\n", "", args...); !json.Valid([]byte(out)) {
					t.Errorf("%v: no JSON: %s", args, out)
				}
			}
		})
	}
}

func TestMigrateReports(t *testing.T) {
	dsn := server.SQLite(t)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT, ratio REAL)"); err != nil {
		t.Fatal(err)
	}
	args := []string{"migrate", "--driver", "sqlite", "--dsn", dsn, "--config", config}
	if out, errs, code := command(t, "", args...); out != "created posts_slots\n" ||
		!strings.Contains(errs, `level=WARN msg="slotsql: counter ratio is not slotted"`) || code != 0 {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE posts_slots; CREATE TABLE posts_slots (x INT)"); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := command(
		t,
		"",
		args...); out != "" || !strings.Contains(errs, `slot table "posts_slots" has no column "id"`) ||
		code != 1 {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ driver, dsn, secret string }{
		{"mysql", "root:s3cr:et@x@tcp(127.0.0.1:1)/app", "s3cr:et@x"},
		{"mysql", "root:s3cret@tcp(127.0.0.1:1/app", "s3cret"},
		{"postgres", "postgres://u:s3cr%40et@127.0.0.1:1/app?connect_timeout=1", "s3cr%40et"},
		{"postgres", "postgres://u:s3cr et@127.0.0.1:1/app", "s3cr et"},
		{"postgres", "host=127.0.0.1 port=1 user=u password='s3cr et' dbname=app", "s3cr et"},
		{"postgres", "host=127.0.0.1 port=x user=u password=s3cret", "s3cret"},
		{"sqlite", "file:absent.db?_pragma_key=s3cret", "s3cret"},
		{"none", "root:s3cret@tcp(x)/y", "s3cret"},
	} {
		for _, text := range []string{c.secret, c.dsn, url.QueryEscape(c.secret)} {
			if got := redact("cannot open "+text+": no", c.driver, c.dsn); strings.Contains(got, "s3cr") {
				t.Errorf("%s: %s", c.dsn, got)
			}
		}
		_, stderr, code := command(t, "", "check", "--driver", c.driver, "--dsn", c.dsn, "--config", config)
		if code != exitError || stderr == "" || strings.Contains(stderr, "s3cr") {
			t.Errorf("%s: %d %s", c.dsn, code, stderr)
		}
	}
	if got := redact("as it is", "mysql", ""); got != "as it is" {
		t.Error(got)
	}
}

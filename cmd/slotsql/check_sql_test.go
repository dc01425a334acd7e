package main

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// testedEngine is an engine with databases to test on.
type testedEngine struct {
	driver, parent string
	dsn            func(testing.TB) string
}

var testedEngines = []testedEngine{
	{"mysql", "mysql", server.MariaDB},
	{"postgres", "pgx", server.Postgres},
	{"sqlite", "sqlite", server.SQLite},
}

// database returns a database of its own for the test, after some queries.
func (e testedEngine) database(t *testing.T, queries ...string) (dsn string, db *sql.DB) {
	t.Helper()
	dsn = e.dsn(t)
	db, err := sql.Open(e.parent, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	twin.ExecAll(t, db, queries...)
	return dsn, db
}

// The statements of an application in the style of each driver and tool; what
// becomes of them is the same.
var styles = map[string]struct{ driver, text string }{
	"mysql, lines": {
		"mysql",
		"UPDATE posts SET views = views + ? WHERE id = ?\nUPDATE posts SET views = views + 5 WHERE id = 1\nSELECT views FROM posts WHERE id = ?\nUPDATE posts SET views = ? WHERE id = ?\nUPDATE posts SET views = 7 WHERE id = 9\nSELECT 1\n",
	},
	"mysql, names": {
		"mysql",
		"UPDATE posts SET views = views + :n WHERE id = :id;\nUPDATE posts SET views = views + :n WHERE id = :id;\nSELECT views FROM posts WHERE id = :id;\nUPDATE posts SET views = :n WHERE id = :id;\nUPDATE posts SET views = 1\n WHERE id = :id;\nSELECT 1;",
	},
	"mysql, general log": {
		"mysql",
		"Time                 Id Command    Argument\n2024-03-20T12:00:00.1Z\t  8 Query\tUPDATE posts SET views = views + 1 WHERE id = 7\n2024-03-20T12:00:00.1Z\t  8 Execute\tUPDATE posts SET views = views + 1 WHERE id = 8\n2024-03-20T12:00:00.1Z\t  8 Query\tSELECT views FROM posts WHERE id = 8\n2024-03-20T12:00:00.1Z\t  8 Query\tUPDATE posts SET views = 3 WHERE id = 8; UPDATE posts SET views = 4 WHERE id = 8; SELECT 1\n",
	},
	"mysql, slow log": {
		"mysql",
		strings.ReplaceAll(
			"#UPDATE posts SET views = views + 1 WHERE id = 7;\n#UPDATE posts SET views = views + 1 WHERE id = 8;\n#SELECT views FROM posts WHERE id = 8;\n#UPDATE posts SET views = 3 WHERE id = 8;\n#UPDATE posts SET views = 4 WHERE id = 9;\n#SELECT 1;\n",
			"#",
			"# User@Host: a[a] @ localhost []\n# Query_time: 0.2  Lock_time: 0.1\nSET timestamp=1;\n",
		),
	},
	"postgres, numbers": {
		"postgres",
		"UPDATE posts SET views = views + $1 WHERE id = $2; UPDATE posts SET views = views + 1 WHERE id = $1; SELECT views FROM posts WHERE id = $1;\nUPDATE posts SET views = $1 WHERE id = $2; UPDATE posts SET views = 4 WHERE id = 5; SELECT 1",
	},
	"postgres, question marks": {
		"postgres",
		"UPDATE posts SET views=views+? WHERE id=?; UPDATE posts SET views=views+? WHERE id=?; SELECT views FROM posts WHERE id=?; UPDATE posts SET views=? WHERE id=?; UPDATE posts SET views=? WHERE id=?; SELECT ?",
	},
	"postgres, percent signs": {
		"postgres",
		"UPDATE posts SET views = views + %s WHERE id = %s;UPDATE posts SET views = views + %(n)s WHERE id = %(id)s;SELECT views FROM posts WHERE id = %s;UPDATE posts SET views = %s WHERE id = %s;UPDATE posts SET views = %s WHERE id = %s;SELECT 1",
	},
	"postgres, log": {
		"postgres",
		strings.ReplaceAll(
			"#statement: UPDATE posts SET views = views + 1\n\tWHERE id = 7\n#execute s: UPDATE posts SET views = views + $1 WHERE id = $2\n#duration: 1.5 ms  statement: SELECT views FROM posts WHERE id = 1\n#statement: UPDATE posts SET views = 3 WHERE id = 8\n#statement: UPDATE posts SET views = 4 WHERE id = 8; SELECT 1\n",
			"#",
			"2026-11-21 22:43:30.787 UTC [1] LOG:  ",
		),
	},
	"postgres, yaml": {
		"postgres",
		"- sql: UPDATE posts SET views = views + $1 WHERE id = $2\n- sql: UPDATE posts SET views = views + $1 WHERE id = $2\n- sql: SELECT views FROM posts WHERE id = $1\n- sql: UPDATE posts SET views = $1 WHERE id = $2\n- sql: |\n    UPDATE posts SET views = $1\n    WHERE id = $2\n- sql: SELECT 1\n",
	},
	"sqlite, its own": {
		"sqlite",
		"UPDATE posts SET views = views + @n WHERE id = ?1; UPDATE posts SET views = views + $n WHERE id = :id; SELECT views FROM posts WHERE id = ?; UPDATE posts SET views = ?2 WHERE id = ?1; UPDATE posts SET views = ? WHERE id = ?; SELECT 1",
	},
	"sqlite, dollars and marks": {
		"sqlite",
		"UPDATE posts SET views = views + %s WHERE id = %s; UPDATE posts SET views = views + #{n} WHERE id = #{id}; SELECT views FROM posts WHERE id = {id}; UPDATE posts SET views = ${n} WHERE id = ${id}; UPDATE posts SET views = ? WHERE id = ?; SELECT 1",
	},
}

func TestCheckStyles(t *testing.T) {
	for name, s := range styles {
		t.Run(name, func(t *testing.T) {
			file := write(t, "statements", s.text)
			r, stderr, code := checked(t, "", "--driver", s.driver, "--schema", "testdata/schema.sql", "--config", config, "--sql", file)
			if code != exitOK || stderr != "" {
				t.Fatalf("%d %s", code, stderr)
			}
			st := r.Statements
			want := []classShare{{"pass-through", 1, 1. / 6}, {"read", 1, 1. / 6}, {"additive", 2, 2. / 6}, {"drain", 2, 2. / 6}}
			if st.Count != 6 || !slices.Equal(st.Classes, want) {
				t.Errorf("%d %v", st.Count, st.Classes)
			}
			counted := 0
			for _, d := range st.Drained {
				counted += d.Count
				if d.Reason != "the statement sets counter views" || !slices.Equal(d.Tables, []string{"posts"}) || d.Line < 1 ||
					strings.ContainsAny(d.Statement, "\n3478") {
					t.Errorf("%+v", d)
				}
			}
			if counted != 2 || len(st.Refused) != 0 || len(st.Base) != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func checked(t *testing.T, stdin string, args ...string) (report, string, int) {
	t.Helper()
	stdout, stderr, code := command(t, stdin, append([]string{"check", "--json"}, args...)...)
	var r report
	if stdout != "" {
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Tables == nil || r.Problems == nil {
			t.Fatalf("%v: %s", err, stdout)
		}
	}
	return r, stderr, code
}

// The exit code is what --fail-on says.
func TestCheckFailsOn(t *testing.T) {
	strict := write(t, "slotsql.yaml", "version: 1\ndefaults: {slots: 64, placement: connection}\ntables:\n  posts: {counters: {views: }, on_drain: error}\n")
	statements := map[string]string{
		"fast":    "UPDATE posts SET views = views + 1 WHERE id = 1;",
		"base":    "UPDATE posts SET views = views + 1;",
		"drained": "UPDATE posts SET views = 0;",
		"refused": "PREPARE s FROM 'UPDATE posts SET views = 0';",
	}
	for _, c := range []struct {
		statements []string
		config     string
		fail       []string
		code       int
		failing    int
	}{
		{[]string{"fast", "base", "drained"}, config, nil, 0, 0},
		{[]string{"fast", "refused"}, config, nil, 1, 1},
		{[]string{"refused"}, config, []string{"--fail-on", "never"}, 0, 0},
		{[]string{"fast", "base"}, config, []string{"--fail-on", "drained"}, 0, 0},
		{[]string{"fast", "drained", "drained", "refused"}, config, []string{"--fail-on", "drained"}, 1, 3},
		{[]string{"fast", "base", "drained", "refused"}, config, []string{"--fail-on", "base"}, 1, 3},
		{[]string{"fast"}, config, []string{"--fail-on", "base"}, 0, 0},
		{[]string{"fast", "drained"}, strict, nil, 1, 1}, // on_drain: error
	} {
		text := ""
		for _, s := range c.statements {
			text += statements[s] + "\n"
		}
		args := append([]string{"--driver", "mysql", "--schema", "testdata/schema.sql", "--config", c.config, "--sql", "-"}, c.fail...)
		r, stderr, code := checked(t, text, args...)
		if code != c.code || stderr != "" || r.Statements.Failing != c.failing {
			t.Errorf("%v %v: %d %s %+v", c.statements, c.fail, code, stderr, r.Statements)
		}
		stdout, _, again := command(t, text, append([]string{"check"}, args...)...)
		if again != code || !strings.Contains(stdout, "standard input: ") ||
			strings.Contains(stdout, "that --fail-on rejects") != (c.failing > 0) {
			t.Errorf("%d %s", again, stdout)
		}
	}
}

// A draw is counted neither as a drain nor as an increment. Where it may drain, it fails the check as a drain does.
func TestCheckDraws(t *testing.T) {
	draws := map[string]string{
		"mysql":    "UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 1;",
		"postgres": "UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING views;",
		"sqlite":   "UPDATE posts SET views = views + 1 WHERE id = 1 RETURNING views;",
	}
	for driver, draw := range draws {
		for slots, code := range map[string]int{"64": exitProblems, "0": exitOK} {
			adaptive := write(t, "slotsql.yaml", "version: 1\ntables:\n  posts: {slots: "+slots+", counters: {views: }}\n")
			r, stderr, got := checked(t, draw, "--driver", driver, "--schema", "testdata/schema.sql", "--config", adaptive, "--sql", "-", "--fail-on", "drained")
			list := r.Statements.Drained
			if code == exitOK {
				list = r.Statements.Base
			}
			if got != code || !slices.Equal(r.Statements.Classes, []classShare{{"draw", 1, 1}}) || len(list) != 1 ||
				!strings.HasPrefix(list[0].Verdict, "Fast: overlapping draws share a statement") {
				t.Errorf("%s, slots %s: %d %s %+v", driver, slots, got, stderr, r.Statements)
			}
		}
	}
}

func TestCheckText(t *testing.T) {
	statements := write(
		t,
		"app.sql",
		"UPDATE posts SET views = views + 1 WHERE id = 1;\nUPDATE posts SET views = views + 2;\n\nUPDATE posts SET views = 3; UPDATE posts\n  SET views = 0;\nPREPARE s FROM 'UPDATE posts SET views = 5';\nSELECT 'posts')) FROM;\n",
	)
	stdout, stderr, code := command(
		t,
		"",
		"check",
		"--driver",
		"mysql",
		"--schema",
		"testdata/schema.sql",
		"--config",
		config,
		"--sql",
		statements,
	)
	want := `posts: key [id], 64 slots in posts_slots
  views: slotted
  ratio: not slotted: sums of floating-point numbers depend on their order
no problems
` + statements + `: 6 statements, read as SQL, statements end with ;
  additive                1   16.7 %
  additive-base           1   16.7 %
  drain                   3   50.0 %
  refused                 1   16.7 %
on the base row:
  1 time, line 2: UPDATE posts SET views = views + ?
    As plain: it runs as written, because WHERE does not fix one row by a unique key; instead: name the row by a unique key.
drained while the table is awake:
  2 times, line 4: UPDATE posts SET views = ?
    Slower: while posts is awake, all slots of posts are folded first, because ` +
		`the statement sets counter views; instead: add the difference.
  1 time, line 7: SELECT ?)) FROM
    Slower: while posts is awake, all slots of posts are folded first, because ` +
		`the parser rejects the statement; slotsql explain shows where.
refused:
  1 time, line 6: PREPARE s FROM ?
    Refused: SQL-level PREPARE hides its statement from slotsql; prepare it through database/sql (db.Prepare).
1 statement that --fail-on rejects
`
	if stdout != want || stderr != "" || code != exitProblems {
		t.Errorf("%d %s\n%s\nwant\n%s", code, stderr, stdout, want)
	}
}

func TestCheckUsage(t *testing.T) {
	on := []string{"check", "--driver", "sqlite", "--schema", "testdata/schema.sql", "--config", config}
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--fail-on", "drained"}, "slotsql: --fail-on is given without --sql: name a file of statements\n"},
		{[]string{"--sql", "x", "--fail-on", "all"}, "slotsql: --fail-on must be never, refused, drained or base, got \"all\"\n"},
		{[]string{"--sql", "absent.sql"}, "slotsql: open absent.sql: no such file or directory\n"},
		{[]string{"--dsn", "x"}, "slotsql: --dsn and --schema are both given: leave one out\n"},
	} {
		if stdout, stderr, code := command(
			t,
			"",
			append(slices.Clone(on), c.args...)...); code != exitError || stderr != c.stderr ||
			stdout != "" {
			t.Errorf("%v: %d %s %s", c.args, code, stderr, stdout)
		}
	}
	wrong := write(t, "slotsql.yaml", "version: 1\ndefaults: {slots: 64, placement: connection}\ntables:\n  absent: {counters: {n: }}\n")
	stdout, stderr, code := command(
		t,
		"SELECT 1;",
		"check",
		"--driver",
		"sqlite",
		"--schema",
		"testdata/schema.sql",
		"--config",
		wrong,
		"--sql",
		"-",
	)
	if code != exitProblems || stderr != "" ||
		!strings.HasSuffix(stdout, "the statements were not checked: the configuration does not fit the database\n") {
		t.Errorf("%d %s %s", code, stderr, stdout)
	}
	if stdout, _, code := command(t, "", append(on, "--sql", write(t, "empty.sql", "-- nothing\n"))...); code != exitOK ||
		!strings.Contains(stdout, "empty.sql: 0 statements") {
		t.Errorf("%d %s", code, stdout)
	}
}

// With a database the tables are what they are there: views, tables that the
// configuration does not name, and slot tables that are missing.
func TestCheckStatementsOfDatabase(t *testing.T) {
	for _, e := range testedEngines {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn := e.dsn(t)
			db := withSchema(t, e.parent, dsn)
			for _, ddl := range []string{"CREATE TABLE comments (id INT PRIMARY KEY, post_id INT NOT NULL)", "CREATE VIEW popular AS SELECT * FROM posts WHERE views > 100"} {
				if _, err := db.ExecContext(t.Context(), ddl); err != nil {
					t.Fatal(err)
				}
			}
			statements := write(
				t,
				"statements.sql",
				"UPDATE posts SET views = views + ? WHERE id = ?;\nSELECT * FROM popular;\nSELECT views, c.id FROM posts JOIN comments c ON c.post_id = posts.id;\nINSERT INTO comments VALUES (?, ?);\n",
			)
			args := []string{"--driver", e.driver, "--dsn", dsn, "--config", config, "--sql", statements, "--fail-on", "drained"}
			r, stderr, code := checked(t, "", args...)
			want := []classShare{{"pass-through", 1, .25}, {"read", 1, .25}, {"additive", 1, .25}, {"drain", 1, .25}}
			if code != exitProblems || stderr != "" || len(r.Problems) != 1 || !slices.Equal(r.Statements.Classes, want) {
				t.Fatalf("%d %s %+v", code, stderr, r)
			}
			if d := r.Statements.Drained; len(d) != 1 || d[0].Line != 2 || !strings.Contains(d[0].Reason, "popular") {
				t.Errorf("%+v", d)
			}
			if _, stderr, code := command(t, "", "migrate", "--driver", e.driver, "--dsn", dsn, "--config", config); code != 0 {
				t.Fatal(stderr)
			}
			if r, _, code := checked(t, "", args...); code != exitProblems || len(r.Problems) != 0 || r.Statements.Failing != 1 {
				t.Errorf("%d %+v", code, r)
			}
			if r, _, code := checked(t, "", append(args, "--fail-on", "refused")...); code != exitOK || r.Statements.Failing != 0 {
				t.Errorf("%d %+v", code, r)
			}
		})
	}
}

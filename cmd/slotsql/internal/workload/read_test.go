package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite"
)

var dialects = map[string]rewrite.Dialect{"mysql": mysql.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// Each file is one that a server or a person wrote.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, dialect, sql string
		form               Form
		want               []string // line: statement, times where there are any
	}{
		{"semicolons", "mysql", "-- views\nUPDATE posts\n  SET views = views + 1;\n\nSELECT ';' FROM posts; SELECT 2", formSQL,
			[]string{"2: UPDATE posts\n  SET views = views + 1", "5: SELECT ';' FROM posts", "5: SELECT 2"}},
		{"one statement on lines that begin like statements", "postgres", "INSERT INTO a\nSELECT * FROM b;\n", formSQL,
			[]string{"1: INSERT INTO a\nSELECT * FROM b"}},
		{"one statement of several lines", "postgres", "UPDATE posts\n   SET views = 1\n WHERE id = 1\n", formSQL,
			[]string{"1: UPDATE posts\n   SET views = 1\n WHERE id = 1"}},
		{"one statement", "sqlite", "select 1\n", formSQL, []string{"1: select 1"}},
		{"lines", "sqlite", "# from the application\nUPDATE posts SET views = views + ? WHERE id = ?\r\n\nselect * from posts where title = 'a;b'\n", formLines,
			[]string{"2: UPDATE posts SET views = views + ? WHERE id = ?", "4: select * from posts where title = 'a;b'"}},
		{"empty", "mysql", "", formSQL, nil},
		{"delimiter", "mysql", "DELIMITER //\nUPDATE a SET b = 1; //\nDELIMITER ;\nSELECT 1;", formSQL, []string{"2: UPDATE a SET b = 1;", "4: SELECT 1"}},
		{"yaml", "postgres", "# statements\n- app: x\n  statements:\n  - kind: read\n    sql: \"SELECT 1;\"\n  - sql: |\n      UPDATE a\n        SET b = b + 1\n  - sql: 'SELECT ''x'''\n  - note: no sql\n", formYAML,
			[]string{"5: SELECT 1", "6: UPDATE a\n  SET b = b + 1", "9: SELECT 'x'"}},
		{"yaml of a map", "postgres", "statements:\n  first: {sql: SELECT 1}\n  second:\n    sql: SELECT 2\n", formYAML, []string{"2: SELECT 1", "4: SELECT 2"}},

		{"general log of MariaDB", "mysql", "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\nTcp port: 0  Unix socket: /tmp/s\nTime\t\t    Id Command\tArgument\n" +
			"261121 22:42:03\t     5 Query\tSET GLOBAL slow_query_log=ON\n\t\t     5 Query\tINSERT INTO posts VALUES (1,'a;b\nc',0,0),(2,'x',0,0)\n" +
			"\t\t     5 Query\tUPDATE posts\n SET views = views + 2\nWHERE id = 2\n\t\t     5 Prepare\tUPDATE posts SET views = views + ? WHERE id = ?\n" +
			"\t\t     5 Execute\tUPDATE posts SET views = views + 1 WHERE id = 1\n\t\t     5 Close stmt\t\n\t\t     5 Init DB\tapp\n261121 22:42:04\t     6 Connect\troot@localhost on app using Socket\n\t\t     6 Quit\t\n", formGeneral,
			[]string{"4: SET GLOBAL slow_query_log=ON", "5: INSERT INTO posts VALUES (1,'a;b\nc',0,0),(2,'x',0,0)", "7: UPDATE posts\n SET views = views + 2\nWHERE id = 2", "11: UPDATE posts SET views = views + 1 WHERE id = 1"}},
		{"general log of MySQL 8, rotated", "mysql", "2024-03-20T12:00:00.123456Z\t    8 Query\tUPDATE posts SET views = views + 1 WHERE id = 7\n2024-03-20T12:00:00.223456Z\t    8 Query\tCOMMIT\n2024-03-20T13:00:00.1+01:00\t   12 Quit\t\n", formGeneral,
			[]string{"1: UPDATE posts SET views = views + 1 WHERE id = 7", "2: COMMIT"}},
		{"slow log", "mysql", "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\nTcp port: 0  Unix socket: /tmp/s\nTime\t\t    Id Command\tArgument\n" +
			"# Time: 261121 22:42:04\n# User@Host: root[root] @ localhost []\n# Thread_id: 6  Schema: app  QC_hit: No\n# Query_time: 0.250000  Lock_time: 0.125000  Rows_sent: 1  Rows_examined: 0\n# Rows_affected: 0  Bytes_sent: 135\n" +
			"use `app`;\nSET timestamp=1795300924;\nUPDATE posts\n# of the application\nSET views = views + 1;\n" +
			"# User@Host: root[root] @ localhost []\n# Thread_id: 6  Schema: app  QC_hit: No\n# Query_time: 0.000064  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\nSET timestamp=1795300924;\n# administrator command: Quit;\n" +
			"# Time: 2024-03-20T12:00:00.123456Z\n# User@Host: app[app] @  [10.0.0.1]  Id:     8\n# Query_time: 2.000000  Lock_time: 1.500000 Rows_sent: 0  Rows_examined: 1\nSET timestamp=1710936000;\nUPDATE posts SET views = 0;\n", formSlow,
			[]string{"11: UPDATE posts\n# of the application\nSET views = views + 1; 250ms/125ms", "23: UPDATE posts SET views = 0; 2s/1.5s"}},

		{"log of PostgreSQL", "postgres", "2026-11-21 22:43:30.787 UTC [1] LOG:  starting PostgreSQL 15\n2026-11-21 22:43:30.787 UTC [23181] LOG:  statement: UPDATE posts SET views=views+1 WHERE id=1\n" +
			"2026-11-21 22:43:30.788 UTC [23181] app@db LOG:  statement: UPDATE posts\n\t\tSET views = views + 2\n\tWHERE id = 2\n" +
			"2026-11-21 22:43:30.792 UTC [23181] LOG:  duration: 0.057 ms  parse s1: UPDATE posts SET views = views + $1\n2026-11-21 22:43:30.793 UTC [23181] LOG:  duration: 0.041 ms  bind s1: UPDATE posts SET views = views + $1\n" +
			"2026-11-21 22:43:30.793 UTC [23181] LOG:  duration: 1.5 ms  execute s1: UPDATE posts SET views = views + $1\n2026-11-21 22:43:30.793 UTC [23181] DETAIL:  parameters: $1 = 'secret'\n" +
			"2026-11-21 22:43:30.793 UTC [23181] LOG:  execute fetch from s1/c1: SELECT 1\n2026-11-21 22:43:30.793 UTC [23181] ERROR:  duplicate key\n2026-11-21 22:43:30.793 UTC [23181] STATEMENT:  INSERT INTO posts VALUES (1)\n" +
			"2026-11-21 22:43:30.794 UTC [23181] LOG:  execute <unnamed>: SELECT 1\n", formPostgres,
			[]string{"2: UPDATE posts SET views=views+1 WHERE id=1", "3: UPDATE posts\n\tSET views = views + 2\nWHERE id = 2", "8: UPDATE posts SET views = views + $1 1.5ms/0s", "13: SELECT 1"}},
		{"log of PostgreSQL without a prefix", "postgres", "LOG:  statement: SELECT 1\n", formPostgres, []string{"1: SELECT 1"}},
		{"csvlog", "postgres", `2026-11-21 22:43:30.787 UTC,"app","db",4711,"[local]",673fb3a2.1267,1,"UPDATE",2026-11-21 22:43:29 UTC,3/4,0,LOG,00000,"duration: 2.5 ms  statement: UPDATE posts` + "\n" + `SET title = ""x"", views = views + 1",,,,,,,,,"psql","client backend",,0` + "\n" +
			`2026-11-21 22:43:30.787 UTC,"app","db",4711,"[local]",673fb3a2.1267,2,"UPDATE",2026-11-21 22:43:29 UTC,3/4,0,ERROR,22012,"division by zero",,,,,,"SELECT 1/0",,,"psql","client backend",,0` + "\n" +
			`2026-11-21 22:43:30.787 UTC,"app","db",4711,"[local]",673fb3a2.1267,3,"SELECT",2026-11-21 22:43:29 UTC,3/4,0,LOG,00000,"execute s: SELECT 2",,,,,,,,,"psql","client backend",,0` + "\n", formCSV,
			[]string{"1: UPDATE posts\nSET title = \"x\", views = views + 1 2.5ms/0s", "4: SELECT 2"}},
		{"jsonlog", "postgres", `{"timestamp":"2026-11-21 22:43:30.787 UTC","pid":1,"error_severity":"LOG","message":"statement: UPDATE posts\nSET views = 1"}` + "\n" +
			`{"timestamp":"2026-11-21 22:43:30.787 UTC","pid":1,"error_severity":"ERROR","message":"statement: no"}` + "\n" + `{"timestamp":"2026-11-21 22` + "\n", formJSON, []string{"1: UPDATE posts\nSET views = 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			form, err := Read(strings.NewReader(c.sql), dialects[c.dialect].LexRules(), func(st Statement) error {
				s := fmt.Sprintf("%d: %s", st.Line, st.SQL)
				if st.Time > 0 {
					s += fmt.Sprintf(" %v/%v", st.Time, st.Lock)
				}
				got = append(got, s)
				if want := map[bool]int64{true: 1, false: 0}[c.form.Log]; st.Runs != want {
					t.Errorf("%d runs of %s", st.Runs, st.SQL)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if form != c.form {
				t.Errorf("read as %s", form.Text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestReadFails(t *testing.T) {
	lx := dialects["mysql"].LexRules()
	stop := fmt.Errorf("enough")
	for _, sql := range []string{"SELECT 1; SELECT 2", "SELECT 1\nSELECT 2", "- sql: SELECT 1\n",
		"LOG:  statement: SELECT 1\n", "\t\t   5 Query\tSELECT 1\n"} {
		n := 0
		_, err := Read(strings.NewReader(sql), lx, func(Statement) error { n++; return stop })
		if err != stop || n != 1 {
			t.Errorf("%q: %v after %d", sql, err, n)
		}
	}
	if _, err := Read(strings.NewReader("a: [\n- sql: x"), lx, func(Statement) error { return nil }); err == nil {
		t.Error("no error for YAML that is none")
	}
}

// A statement longer than what is kept is cut off, and the next one is read.
func TestLongLine(t *testing.T) {
	sql := "LOG:  statement: SELECT '" + strings.Repeat("x", maxSQL) + "'\nLOG:  statement: SELECT 2\n"
	var got []int
	if _, err := Read(strings.NewReader(sql), dialects["postgres"].LexRules(), func(st Statement) error {
		got = append(got, len(st.SQL))
		return nil
	}); err != nil || len(got) != 2 || got[0] > maxSQL+peekBytes || got[1] != len("SELECT 2") {
		t.Errorf("%v %v", got, err)
	}
}

// Rules: any file is read without a panic, whatever its form; statements come
// in the order of their lines, none is blank, and no time is negative.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"SELECT 1; SELECT 2", "- sql: SELECT 1", "LOG:  duration: 9e99 ms  statement: SELECT 1\n\tx",
		"# Query_time: 1.5  Lock_time: 0.5\nSELECT 1;\n", "\t\t 1 Query\tSELECT 1\nx", "DELIMITER x\nSELECT 1x"} {
		f.Add(s, "mysql")
		f.Add(s, "postgres")
	}
	f.Fuzz(func(t *testing.T, sql, dialect string) {
		d := dialects[dialect]
		if d == nil {
			d = dialects["sqlite"]
		}
		last := 0
		_, _ = Read(strings.NewReader(sql), d.LexRules(), func(st Statement) error {
			if st.Line < last || strings.TrimSpace(st.SQL) == "" || st.Time < 0 || st.Lock < 0 || st.Time > 1e9*time.Second {
				t.Errorf("after line %d: %+v", last, st)
			}
			last = st.Line
			return nil
		})
	})
}

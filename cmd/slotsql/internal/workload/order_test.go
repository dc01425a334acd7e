package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
)

// The general log of MariaDB tells connections apart, and so which increments are
// in transactions that lock before or read afterwards.
func TestOrder(t *testing.T) {
	log := "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB. started with:\nTcp port: 0  Unix socket: s\nTime\t\t    Id Command\tArgument\n" +
		strings.Join([]string{
			"261122 12:00:00\t     5 Query\tUPDATE posts SET views = views + 1 WHERE id = 1", // alone
			"\t\t     5 Query\tSTART TRANSACTION",
			"\t\t     6 Query\tBEGIN",
			"\t\t     5 Execute\tSELECT * FROM posts WHERE id = 7 FOR UPDATE",
			"\t\t     6 Execute\tUPDATE `posts` SET `views` = `views` + 1 WHERE id = 2", // read afterwards
			"\t\t     5 Execute\tUPDATE posts SET views = posts.views + 1 WHERE id = 7", // locked before
			"\t\t     6 Execute\tSELECT views FROM posts WHERE id = 2",
			"\t\t     5 Query\tCOMMIT",
			"\t\t     6 Query\tROLLBACK",
			"\t\t     6 Query\tBEGIN",
			"\t\t     6 Execute\tUPDATE posts SET views = views + 1 WHERE id = 3", // neither: another table is read
			"\t\t     6 Query\tSELECT * FROM posts_archive",
			"\t\t     6 Query\tCOMMIT",
			"\t\t     6 Query\tUPDATE users SET karma = karma + 1 WHERE id = 3",
		}, "\n") + "\n"
	o := NewOrder(mysql.New())
	form, err := Read(strings.NewReader(log), mysql.New().LexRules(), func(st Statement) error { o.Add(st); return nil })
	if err != nil || form.Name != "mysql-general" {
		t.Fatal(form, err)
	}
	got := strings.Join(o.Notes(), "\n")
	want := "of 4 increments of posts, judged by the order of each connection's statements, 1 came after their transaction had locked rows of the table, and 1 before it read the table: these 2 drain their row and gain little\n" +
		"judged by the order of each connection's statements, none of 1 increments of users came after a lock or before a read of the table in the same transaction"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if p, u := o.Of("Posts"), o.Of("users"); p.Runs != 4 || p.Inside != 3 || u.Runs != 1 || u.Inside != 0 || o.Of("none").Runs != 0 {
		t.Errorf("posts %+v, users %+v", p, u)
	}
}

// Without autocommit a session is always in a transaction, whatever begins it.
func TestOrderWithoutAutocommit(t *testing.T) {
	o := NewOrder(mysql.New())
	for _, sql := range []string{
		"SET autocommit = 0", "UPDATE posts SET n = n + 1 WHERE id = 1", "COMMIT",
		"UPDATE posts SET n = n + 1 WHERE id = 1", "SELECT n FROM posts", "ROLLBACK", "UPDATE posts SET n = n + 1 WHERE id = 1",
		"set @@session.autocommit=1", "UPDATE posts SET n = n + 1 WHERE id = 1",
	} {
		o.Add(Statement{SQL: sql, Conn: "1"})
	}
	if p := o.Of("posts"); p.Runs != 4 || p.Inside != 3 || p.Read != 1 {
		t.Errorf("%+v", p)
	}
}

// A log of PostgreSQL with the default log_line_prefix tells sessions apart by [pid]; a
// csvlog and a jsonlog have fields for it. What shows that the log has every statement is
// one that log_statement = mod leaves out, or one faster than any threshold.
func TestOrderPostgres(t *testing.T) {
	type entry struct{ pid, message string }
	session := func(pid string, statements ...string) (out []entry) {
		for _, s := range statements {
			out = append(out, entry{pid, s})
		}
		return out
	}
	increment := "UPDATE posts SET views = views + 1 WHERE id = 1"
	all := slices.Concat(
		session("7", "statement: begin isolation level repeatable read", "execute <unnamed>: SELECT * FROM posts WHERE id = 1 FOR UPDATE"),
		session("8", "statement: begin", "statement: "+increment),
		session("7", "execute s1: "+increment, "statement: commit"),
		session("8", "statement: COMMIT WORK", "statement: "+increment),
	)
	timed := slices.Clone(all)
	for i := range timed {
		timed[i].message = "duration: 0.071 ms  " + timed[i].message
	}
	forms := map[string]func(entry) string{
		"postgres":         func(e entry) string { return "2026-11-21 22:43:30.787 UTC [" + e.pid + "] LOG:  " + e.message },
		"postgres, Debian": func(e entry) string { return "2026-11-21 22:43:30.787 UTC [" + e.pid + "] app@db LOG:  " + e.message },
		"postgres, RDS": func(e entry) string {
			return "2026-11-21 22:43:30 UTC:10.0.0.7(40418):app@db:[" + e.pid + "]:LOG:  " + e.message
		},
		"postgres-csv": func(e entry) string {
			return `2026-11-21 22:43:30.787 UTC,"app","db",` + e.pid + `,"[local]",673fb3a2.` + e.pid + `,1,"UPDATE",2026-11-21 22:43:29 UTC,3/4,0,LOG,00000,"` + e.message + `",,,,,,,,,"psql","client backend",,0`
		},
		"postgres-json": func(e entry) string {
			return `{"timestamp":"2026-11-21 22:43:30.787 UTC","pid":` + e.pid + `,"session_id":"673fb3a2.` + e.pid + `","error_severity":"LOG","message":"` + e.message + `"}`
		},
	}
	for name, form := range forms {
		for _, c := range []struct {
			name    string
			entries []entry
			want    Ordered
		}{
			{"all statements", all, Ordered{Runs: 3, Locked: 1, Inside: 2, Alone: 1}},
			{"all durations", timed, Ordered{Runs: 3, Locked: 1, Inside: 2, Alone: 1}},
			{"log_statement = mod", session("7", "statement: "+increment, "statement: "+increment), Ordered{}},
			{"slow ones", session("7", "duration: 250.1 ms  statement: "+increment, "duration: 250.1 ms  statement: SELECT 1",
				"duration: 250.1 ms  statement: "+increment), Ordered{}},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				var log strings.Builder
				for _, e := range c.entries {
					log.WriteString(form(e) + "\n")
				}
				d := postgres.New()
				o := NewOrder(d)
				read, err := Read(strings.NewReader(log.String()), d.LexRules(), func(st Statement) error { o.Add(st); return nil })
				if kind, _, _ := strings.Cut(name, ","); err != nil || read.Name != kind {
					t.Fatal(read, err)
				}
				if got := o.Of("posts"); got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			})
		}
	}
}

// A transaction around a single statement costs more than slots give back, and is named.
func TestOrderAlone(t *testing.T) {
	o := NewOrder(mysql.New())
	for _, sql := range []string{
		"START TRANSACTION", "UPDATE posts SET n = n + 1 WHERE id = 1", "COMMIT",
		"START TRANSACTION", "UPDATE posts SET n = n + 1 WHERE id = 2", "COMMIT",
		"BEGIN", "UPDATE posts SET n = n + 1 WHERE id = 1", "INSERT INTO log VALUES (1)", "COMMIT",
		"UPDATE posts SET n = n + 1 WHERE id = 1",
		"BEGIN", "UPDATE posts SET n = n + 1 WHERE id = 1", // and what follows is not in the log
	} {
		o.Add(Statement{SQL: sql, Conn: "1"})
	}
	notes := strings.Join(o.Notes(), "\n")
	want := "2 of 5 increments of posts are the only statement of their transaction: without it they take one round trip instead of three, and those that overlap share one statement (GORM: SkipDefaultTransaction: true)"
	if !strings.Contains(notes, want) {
		t.Errorf("no %q in\n%s", want, notes)
	}
	if p := o.Of("posts"); p.Alone != 2 || p.Inside != 4 {
		t.Errorf("%+v", p)
	}
}

package workload

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
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

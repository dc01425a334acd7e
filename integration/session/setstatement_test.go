package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A statement behind MariaDB's SET STATEMENT ... FOR locks what it locks alone, and its settings hold: while another session has a
// row locked, statements of other rows do not wait, and those of that row end with max_statement_time. MySQL has no such statement.
func TestSetStatement(t *testing.T) {
	t.Parallel()
	const behind = "SET STATEMENT max_statement_time = 0.2 FOR "
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"), Config: always, Params: "innodb_lock_wait_timeout=3"})
	both := func(query, class string) {
		t.Helper()
		for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
			if _, err := db.ExecContext(t.Context(), query); twin.Class(err) != class {
				t.Errorf("%s: %v, want %q", query, err, class)
			}
		}
	}
	if server.MySQLVersion(t).MySQL {
		both(behind+"UPDATE posts SET views = views + 1 WHERE id = 2", "MySQL 1064 (42000)")
		return
	}
	for _, db := range []*sql.DB{p.Plain, p.Wrapped} { // the wrapped one's are in slots
		twin.ExecAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2")
	}
	before := value(t, p.Plain, "SELECT views FROM posts WHERE id = 2")
	for _, under := range []*sql.DB{p.Plain, p.Under} {
		tx, err := under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		twin.ExecAll(t, tx, "SELECT views FROM posts WHERE id = 1 FOR UPDATE")
	}
	if got := value(t, p.Wrapped, behind+"SELECT views FROM posts WHERE id = 2"); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
	both(behind+"UPDATE posts SET views = views + 1 WHERE id = 2", "none")
	both(behind+"UPDATE posts SET views = views + 1 WHERE id = 1", "MySQL 1969 (70100)")
	both(behind+"UPDATE posts SET views = 7 WHERE id = 1", "MySQL 1969 (70100)")
	both(behind+"UPDATE posts SET title = 'x' WHERE id = 2", "none")
	both(behind+"UPDATE posts SET views = 7 WHERE id = 2", "none")
	both(behind+"INSERT INTO posts (id, views) VALUES (2, 1) ON DUPLICATE KEY UPDATE views = views + 1", "none")
	for _, query := range []string{"SELECT id, views FROM posts ORDER BY id", "SELECT SUM(views) FROM posts"} {
		want := twin.Rows(t, p.Plain, query)
		for _, q := range []string{query, behind + query} {
			if got := twin.Rows(t, p.Wrapped, q); got != want {
				t.Errorf("%s: %s, want %s", q, got, want)
			}
		}
	}
}

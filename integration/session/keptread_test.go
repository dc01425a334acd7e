package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A read of totals with arguments is prepared once on MySQL, where the parent prepares it
// each time, and gives what the plain driver gives after whatever may have changed since.
func TestReadsAreKeptPrepared(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, views INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 'one', 10), (2, 'two', 20)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {placement: connection}\ntables: {posts: {counters: {views: {}}}}\n",
	})
	sessions := pinned(t, p)
	on := twin.Sides{Plain: sessions.plain, Wrapped: sessions.wrapped}
	same := func(sql string, args ...any) {
		t.Helper()
		compare(t, on, twin.Statement{SQL: sql, Args: args})
	}
	prepared := func() (n int) {
		t.Helper()
		var name string
		row := sessions.wrapped.(*sql.Conn).QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")
		if err := row.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const read = "SELECT id, views, title FROM posts WHERE id = ?"
	same(read, 1)
	same(read, 1) // the connection knows by now that its parent prepares
	before := prepared()
	for range 10 {
		same(read, 2)
	}
	if n := prepared() - before; n != 0 {
		t.Errorf("ten reads prepared %d statements", n)
	}
	for _, change := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = 2",
		"ALTER TABLE posts MODIFY title VARCHAR(60) NOT NULL",
		"ALTER TABLE posts MODIFY views BIGINT NOT NULL",
		"ALTER TABLE posts ADD subtitle VARCHAR(20) NOT NULL DEFAULT 'x' AFTER id",
		"SET sql_mode = 'ANSI_QUOTES'",
		"SET NAMES latin1",
		"CREATE TEMPORARY TABLE other (id INT)",
	} {
		same(change)
		same(read, 2)
		same("SELECT * FROM posts WHERE views > ? AND id = ?", 1, 2)
		same(`SELECT "title", views FROM posts WHERE id = ?`, 2)
		same(read, "2 or more")
		same(read)       // an argument is missing
		same(read, 1, 2) // there is one too many
	}
}

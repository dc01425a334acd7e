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
	ctx := t.Context()
	plain, err := p.Plain.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	wrapped, err := p.Wrapped.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer wrapped.Close()
	same := func(sql string, args ...any) {
		t.Helper()
		s := twin.Statement{SQL: sql, Args: args}
		if d := twin.Compare(twin.Run(ctx, plain, s), twin.Run(ctx, wrapped, s)); len(d) > 0 {
			t.Errorf("%s: %v", sql, d)
		}
	}
	prepared := func(db *sql.Conn) (n int) {
		t.Helper()
		var name string
		if err := db.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const read = "SELECT id, views, title FROM posts WHERE id = ?"
	same(read, 1)
	before := prepared(wrapped)
	for range 10 {
		same(read, 2)
	}
	if n := prepared(wrapped) - before; n != 0 {
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

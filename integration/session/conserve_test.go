package session

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A drain whose base row does not take what its slots hold moves nothing and says so:
// an UPDATE trigger stores another value. That goes for one row and for all rows, in
// a transaction of the application and outside.
func TestDrainIsConserved(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, views INT NOT NULL, title VARCHAR(20))",
		"INSERT INTO posts VALUES (1, 'a', 10, 'x'), (2, 'b', 20, 'x')",
		"CREATE TRIGGER held BEFORE UPDATE ON posts FOR EACH ROW SET NEW.views = LEAST(NEW.views, 12)",
	}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, defer_triggers: true}}\n"})
	for range 5 {
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
	}
	total := func() (n int) {
		t.Helper()
		if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := total(); n != 15 {
		t.Fatalf("%d before", n)
	}
	for _, q := range []string{
		"UPDATE posts SET views = 5 WHERE id = 1", "UPDATE posts SET views = 5 WHERE slug = 'a'", "UPDATE posts SET views = 5 WHERE title = 'x'",
		"UPDATE posts SET views = views - 1 WHERE id = 1 AND views > 1",
	} {
		if _, err := p.Wrapped.Exec(q); !errors.Is(err, slotsql.ErrNotMoved) {
			t.Errorf("%s: %v", q, err)
		}
		tx, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(q); !errors.Is(err, slotsql.ErrNotMoved) {
			t.Errorf("in a transaction: %s: %v", q, err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("a part of a fold has been committed")
		}
		if n := total(); n != 15 {
			t.Fatalf("%d after %s", n, q)
		}
	}
}

// Beside drains skip_locked neither fails nor stalls where plain does not.
func TestSkipLockedBesideDrains(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0), (2, 0), (3, 0)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: skip_locked, slots: 8}}\n"})
		checkBeside(t, p)
	})
}

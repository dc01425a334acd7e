package session

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Before a statement with * runs, slotsql looks whether the table still has the same columns. Where
// that look fails in a transaction of PostgreSQL, all that follows in it fails with 25P02: the application gets the error
// that its own statement would have got.
func TestErrorOfLookAtColumns(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10)"},
		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
	})
	code := func(db, under *sql.DB) string {
		t.Helper()
		must(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
		locker, err := under.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = locker.Rollback() }()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		for _, s := range []struct {
			on    *sql.Tx
			query string
		}{
			{tx, "SELECT 1"},
			{tx, "SET LOCAL lock_timeout = '100ms'"},
			{locker, "LOCK TABLE posts IN ACCESS EXCLUSIVE MODE"},
		} {
			if _, err := s.on.ExecContext(t.Context(), s.query); err != nil {
				t.Fatal(err)
			}
		}
		return sqlState(readAll(tx.QueryContext(t.Context(), "SELECT * FROM posts WHERE id = 1")))
	}
	plain, wrapped := code(p.Plain, p.Plain), code(p.Wrapped, p.Under)
	if plain != "55P03" || wrapped != plain {
		t.Errorf("plain %s, wrapped %s", plain, wrapped)
	}
}

func sqlState(err error) string {
	var coded interface{ SQLState() string } // of pgx and of lib/pq
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return "none"
}

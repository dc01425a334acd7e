// Package suite runs statements through a parent driver, plain and wrapped by slotsql, and compares what
// a program sees. It imports no driver: two packages that register the same name cannot be in one program.
package suite

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
)

// Config counts in slots from the first increment on.
const Config = `version: 1
auto_migrate: true
tables:
  posts: {counters: {views: {}, likes: {}}, slots: 8, placement: random}
`

// Schema are the tables and rows of the suite.
var Schema = []string{
	"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title VARCHAR(100))",
	"INSERT INTO posts (id, views, likes, title) VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')",
}

const (
	increment = "UPDATE posts SET views = views + 1 WHERE id = 1"
	drain     = "UPDATE posts SET views = views * 2 WHERE id = 1"
	totals    = "SELECT id, views, likes, title FROM posts ORDER BY id"
	mistake   = "SELECT nosuch FROM posts"
)

// Script are statements of every class, in and outside of transactions.
var Script = []string{
	increment, "UPDATE posts SET views = views + 2, likes = likes + 1 WHERE id = 1", drain,
	"UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = 2", "UPDATE posts SET views = views + 1", "UPDATE posts SET views = views + 5 WHERE id = 99",
	"INSERT INTO posts (id, views) VALUES (4, 1)", "UPDATE posts SET views = views + 4 WHERE id = 4", "UPDATE posts SET id = 5 WHERE id = 4",
	"SELECT id FROM posts WHERE views > 12 ORDER BY views DESC LIMIT 2", "SELECT SUM(views) FROM posts", "SELECT title, views FROM posts WHERE id = 1", mistake,
	"BEGIN", increment, drain, increment, "ROLLBACK", totals,
	"BEGIN", increment, drain, "SAVEPOINT a", drain, "ROLLBACK TO a", increment, "COMMIT", totals,
	"DELETE FROM posts WHERE id = 3", "UPDATE posts SET views = views + 1 WHERE id = 3", "INSERT INTO posts (id) VALUES (1)",
}

// Run compares the driver named plain with that named wrapped, each on a database of its own.
func Run(t *testing.T, plain, wrapped string, dsn func() string) {
	t.Helper()
	cfg, err := slotsql.Parse([]byte(Config), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	open := func(db *sql.DB, err error) *sql.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	at := dsn()
	one, under := open(sql.Open(plain, dsn())), open(sql.Open(plain, at))
	for _, q := range Schema {
		for _, db := range []*sql.DB{one, under} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	Compare(t, one, open(slotsql.Open(wrapped, at, slotsql.WithConfig(cfg))))
	var slots int
	if err := under.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM posts_slots").Scan(&slots); err != nil || slots == 0 {
		t.Errorf("%d slot rows, %v: nothing was counted in slots", slots, err)
	}
}

// Compare runs the script on one connection of each, and reads the totals on another one after each statement
// outside of transactions.
func Compare(t *testing.T, plain, wrapped *sql.DB) {
	t.Helper()
	p, w := Pin(t, plain), Pin(t, wrapped)
	for i, q := range Script {
		if a, b := outcome(t.Context(), p, q), outcome(t.Context(), w, q); !reflect.DeepEqual(a, b) {
			t.Errorf("statement %d: %s\nplain:   %v\nwrapped: %v", i, q, a, b)
		}
		if a, b := outcome(t.Context(), p, totals), outcome(t.Context(), w, totals); !reflect.DeepEqual(a, b) {
			t.Fatalf("totals after statement %d: %s\nplain:   %v\nwrapped: %v", i, q, a, b)
		}
	}
	transactions(t, plain, wrapped)
	if _, err := w.ExecContext(t.Context(), increment); err != nil {
		t.Error(err)
	}
}

// Pin returns a connection that is kept until the test ends.
func Pin(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// transactions drains in a driver.Tx that fails and is rolled back, and in one that is committed.
func transactions(t *testing.T, dbs ...*sql.DB) {
	t.Helper()
	var seen []string
	for _, db := range dbs {
		for _, commit := range []bool{false, true} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []string{increment, drain, increment} {
				if _, err := tx.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if commit {
				err = tx.Commit()
			} else {
				_, _ = tx.ExecContext(t.Context(), mistake)
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		seen = append(seen, fmt.Sprint(outcome(t.Context(), db, totals)))
	}
	if seen[0] != seen[1] {
		t.Errorf("plain:   %s\nwrapped: %s", seen[0], seen[1])
	}
}

type session interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// outcome is what a program sees of a statement: rows with their Go types, or rows affected, or
// the type of the error and its message.
func outcome(ctx context.Context, s session, q string) []string {
	if !strings.HasPrefix(q, "SELECT") {
		res, err := s.ExecContext(ctx, q)
		if err != nil {
			return []string{fmt.Sprintf("%T %v", err, err)}
		}
		if q[0] != 'U' && q[0] != 'D' && q[0] != 'I' {
			return nil // SQLite repeats what the statement before has affected
		}
		n, err := res.RowsAffected()
		return []string{fmt.Sprint(n, err)}
	}
	rows, err := s.QueryContext(ctx, q)
	if err != nil {
		return []string{fmt.Sprintf("%T %v", err, err)}
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	out := []string{fmt.Sprint(columns)}
	for rows.Next() {
		row, ptr := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			ptr[i] = &row[i]
		}
		if err := rows.Scan(ptr...); err != nil {
			return append(out, err.Error())
		}
		for _, v := range row {
			out = append(out, fmt.Sprintf("%T %v", v, v))
		}
	}
	if err := rows.Err(); err != nil {
		out = append(out, fmt.Sprintf("%T %v", err, err))
	}
	return out
}

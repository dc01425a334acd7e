package drains

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestDrainBesideForeignKeys: a row that refers to a counter's row locks it FOR KEY SHARE until its
// transaction ends. A plain UPDATE of the counter does not wait for that, so a drain must not either: two
// transactions that both insert a comment and then drain the post would wait for each other.
func TestDrainBesideForeignKeys(t *testing.T) {
	statements := []struct{ name, sql string }{
		{"set", "UPDATE posts SET views = 5 WHERE id = %d"},
		{"returning", "UPDATE posts SET views = views + 1 WHERE id = %d RETURNING views"},
		{"guard", "UPDATE posts SET views = views - 1 WHERE id = %d AND views >= 1"},
		{"clamp", "UPDATE posts SET views = GREATEST(views - 1, 0) WHERE id = %d"},
		{"recount", "UPDATE posts SET views = (SELECT COUNT(*) FROM comments WHERE post_id = %[1]d) WHERE id = %[1]d"},
		{"upsert", "INSERT INTO posts VALUES (%d, 'a', 5) ON CONFLICT (id) DO UPDATE SET views = 2 * excluded.views RETURNING views"},
		{"read back", "UPDATE posts SET views = views + 1 WHERE id = %[1]d; SELECT views FROM posts WHERE id = %[1]d"},
	}
	for _, placement := range []string{"adaptive", "connection"} {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			t.Run(fmt.Sprintf("postgres/%s/%v", placement, level), func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: "postgres",
					Schema: []string{
						"CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, title TEXT, views INT NOT NULL)",
						"CREATE TABLE comments (post_id INT NOT NULL REFERENCES posts ON DELETE CASCADE, body TEXT)",
						"INSERT INTO posts SELECT n, 'a', 100 FROM generate_series(1, 100) AS n",
					},
					Config: "version: 1\nauto_migrate: true\ndefaults: {placement: " + placement + "}\ntables: {posts: {counters: {views: {}}}}\n",
				})
				for i, s := range statements {
					for _, counted := range []bool{false, true} {
						id := 1 + 2*i
						if counted {
							id++
							if _, err := p.Wrapped.ExecContext(t.Context(), fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", id)); err != nil {
								t.Fatal(err)
							}
						}
						t.Run(fmt.Sprintf("%s/counted=%v", s.name, counted), func(t *testing.T) {
							drainBesideComments(t, p.Wrapped, level, id, fmt.Sprintf(s.sql, id), counted)
						})
					}
				}
			})
		}
	}
}

func drainBesideComments(t *testing.T, db *sql.DB, level sql.IsolationLevel, id int, query string, counted bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO comments VALUES ($1, 'x')", id); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	first, second := begin(), begin()
	defer first.Rollback()
	defer second.Rollback()
	if _, err := first.ExecContext(ctx, query); err != nil {
		t.Fatalf("beside an uncommitted comment: %v", err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := second.ExecContext(ctx, query)
		result <- err
	}()
	// A third comment, while the counter's row is locked.
	third := begin()
	if err := third.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	switch err := <-result; {
	case err == nil:
		if err := second.Commit(); err != nil {
			t.Fatal(err)
		}
	case level == sql.LevelReadCommitted: // at REPEATABLE READ the row has changed since the snapshot, as plain
		t.Fatalf("behind another one: %v", err)
	}
	if counted {
		return // slots may be looked for at once now, which takes the stronger lock
	}
	alone := begin()
	defer alone.Rollback()
	if _, err := db.ExecContext(ctx, query); err != nil {
		t.Fatalf("outside a transaction, beside an uncommitted comment: %v", err)
	}
}

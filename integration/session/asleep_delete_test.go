package session

import (
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// deletable makes a table of three rows, whose views are 1, 2 and 3.
func deletable(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 1), (2, 2), (3, 3)"},
		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
	})
}

// A DELETE of a sleeping table waits for an increment in a slot, and then finds its row above the bound. The slot, which the DELETE
// would take with the row, is one that it cannot have seen when it began.
func TestDeleteBesideFirstSlot(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, where := range []string{"alone", "in a transaction", "at READ COMMITTED", "behind a query"} {
			t.Run(where, func(t *testing.T) {
				p := deletable(t, dialect)
				counting, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := counting.Exec("UPDATE posts SET views = views + 10 WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- deleteFew(t, p.Wrapped, where, dialect) }()
				untilBlocked(t, p, done)
				if err := errors.Join(counting.Commit(), <-done); err != nil {
					t.Fatal(err)
				}
				if got := value(t, p.Wrapped, "SELECT COUNT(*) FROM posts"); got != "2" {
					t.Errorf("%s rows are left, want 2", got)
				}
				if got := value(t, p.Wrapped, "SELECT SUM(views) FROM posts"); got != "14" {
					t.Errorf("%s views are left, want 14", got)
				}
			})
		}
	})
}

// deleteFew deletes rows of fewer than 3 views.
func deleteFew(t *testing.T, db *sql.DB, where, dialect string) error {
	q := "DELETE FROM posts WHERE views < 3"
	switch {
	case where == "alone":
		_, err := db.ExecContext(t.Context(), q)
		return err
	case where == "behind a query" && dialect == "postgres":
		rows, err := db.QueryContext(t.Context(), "WITH gone AS ("+q+" RETURNING id) SELECT id FROM gone WHERE id > 0")
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	}
	level := sql.LevelDefault
	if where == "at READ COMMITTED" {
		level = sql.LevelReadCommitted
	}
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(t.Context(), q)
	return errors.Join(err, tx.Commit())
}

// Statements that delete other rows of a sleeping table, and have to wait for these, do not wait for each other's slots, nor
// deadlock where a function that may have side effects has them lock the slots first.
func TestDeletesDoNotDeadlock(t *testing.T) {
	for name, also := range map[string]string{"stable": "", "volatile": " AND random() >= 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := deletable(t, "postgres")
			holder, err := p.Under.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := holder.Exec("SELECT 1 FROM posts FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			done := [2]chan error{make(chan error, 1), make(chan error, 1)}
			for i, q := range []string{"DELETE FROM posts WHERE views = 1", "DELETE FROM posts WHERE views = 2"} {
				go func() {
					tx, err := p.Wrapped.BeginTx(t.Context(), nil)
					if err == nil {
						_, err = tx.Exec(q + also)
						err = errors.Join(err, tx.Commit())
					}
					done[i] <- err
				}()
				waiting := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
				for end := time.Now().Add(time.Minute); value(t, p.Under, waiting) != strconv.Itoa(i+1); time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("it does not wait")
					}
				}
			}
			if err := errors.Join(holder.Commit(), <-done[0], <-done[1]); err != nil {
				t.Fatal(err)
			}
			if got := value(t, p.Under, "SELECT COUNT(*) FROM posts"); got != "1" {
				t.Errorf("%s rows are left", got)
			}
		})
	}
}

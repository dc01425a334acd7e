package session

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// What is not committed is in no total at READ UNCOMMITTED, the first time that a session
// sends a query as well as later on.
func TestReadUncommittedAtOnce(t *testing.T) {
	for _, q := range []string{
		"SELECT SUM(views) FROM posts WHERE id < 9", "SELECT views + 1 FROM posts WHERE id = 1", "SELECT views FROM posts WHERE id = 1",
	} {
		t.Run(q, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "mysql", server.Isolated(t, "READ-UNCOMMITTED"))
			execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
			want := twin.Rows(t, p.Wrapped, q+" /* now and then */ OR FALSE")
			tx, err := p.Under.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.Exec("UPDATE posts SET views = 1000 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got := twin.Rows(t, p.Wrapped, q); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

// A total does not blink at READ UNCOMMITTED while others fold its slots and roll
// back.
func TestReadUncommitted(t *testing.T) {
	for _, how := range []string{"dsn", "set", "begintx", "text"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			params := ""
			if how == "dsn" {
				params = server.Isolated(t, "READ-UNCOMMITTED")
			}
			p := newPair(t, "mysql", params)
			execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 5 WHERE id = 2")
			one := pinned(t, p)
			if how == "set" || how == "text" {
				one.same(t, twin.Statement{SQL: "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"})
			}
			if how == "text" {
				one.same(t, twin.Statement{SQL: "BEGIN"})
			}
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for ctx.Err() == nil {
						tx, err := p.Wrapped.BeginTx(context.WithoutCancel(ctx), nil)
						if err != nil {
							return
						}
						_, _ = tx.Exec("DELETE FROM log WHERE id = (SELECT MAX(views) FROM posts FOR UPDATE)")
						_ = tx.Rollback()
					}
				})
			}
			for range 300 {
				var sum int
				var err error
				if how == "begintx" {
					var tx *sql.Tx
					if tx, err = p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadUncommitted}); err == nil {
						err = tx.QueryRow("SELECT SUM(views) FROM posts WHERE id < 9 AND title <> 'none'").Scan(&sum)
						_ = tx.Rollback()
					}
				} else {
					err = one.wrapped.(*sql.Conn).QueryRowContext(
						t.Context(),
						"SELECT SUM(views) FROM posts WHERE id < 9 AND title <> 'none'",
					).Scan(&sum)
				}
				if err != nil || sum != 66 {
					t.Errorf("%d, %v", sum, err)
					break
				}
			}
			stop()
			if how == "text" {
				one.same(t, twin.Statement{SQL: "COMMIT"})
			}
			wg.Wait()
		})
	}
}

package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that reads after it has changed several rows waits for whichever session
// has counted in them too. What those have done elsewhere it then sees as well:
// its snapshot is not older than its own versions of the rows. (PostgreSQL tells
// such a transaction 40001.)
func TestSnapshotIsNotOlderThanOwnRows(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "mysql", "")
			ctx := t.Context()
			begin := func(statements ...string) *sql.Tx {
				t.Helper()
				tx, err := p.Wrapped.BeginTx(ctx, &sql.TxOptions{Isolation: level})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = tx.Rollback() })
				for _, q := range statements {
					if _, err := tx.ExecContext(ctx, q); err != nil {
						t.Fatal(err)
					}
				}
				return tx
			}
			a := begin("UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2")
			b := begin("UPDATE posts SET views = views + 100 WHERE id = 2", "UPDATE posts SET views = views + 100 WHERE id = 3")
			var two, three int
			done := make(chan error, 1)
			go func() {
				done <- a.QueryRowContext(ctx, "SELECT MAX(CASE id WHEN 2 THEN views END), MAX(CASE id WHEN 3 THEN views END) FROM posts").Scan(&two, &three)
			}()
			untilBlocked(t, p, done)
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || two != 121 || three != 130 {
				t.Errorf("rows 2 and 3 are %d and %d, want 121 and 130: %v", two, three, err)
			}
		})
	}
}

// untilBlocked waits until a session of the database waits for a lock.
func untilBlocked(t *testing.T, p *twin.Pair, done <-chan error) {
	t.Helper()
	if !p.UntilBlocked(t, done) {
		t.Fatalf("it does not wait: %v", <-done)
	}
}

package session

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that reads after it has changed several rows waits for whoever
// has counted in them too. What those have done elsewhere it then sees as well:
// its snapshot is not older than its own versions of the rows. (PostgreSQL tells
// such a transaction 40001.)
func TestSnapshotIsNotOlderThanOwnRows(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "mysql", "")
			ctx := t.Context()
			begin := func(texts ...string) *sql.Tx {
				t.Helper()
				tx, err := p.Wrapped.BeginTx(ctx, &sql.TxOptions{Isolation: level})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = tx.Rollback() })
				for _, q := range texts {
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
			untilBlocked(ctx, t, p, done)
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || two != 121 || three != 130 {
				t.Errorf("rows 2 and 3 are %d and %d, want 121 and 130: %v", two, three, err)
			}
		})
	}
}

// untilBlocked waits until a session of the database waits for a lock. MariaDB
// renews INNODB_TRX when nobody has asked for 0.1 s.
func untilBlocked(ctx context.Context, t *testing.T, p *twin.Pair, done chan error) {
	t.Helper()
	query := "SELECT COUNT(*) FROM information_schema.INNODB_TRX x JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE x.trx_state = 'LOCK WAIT' AND p.DB = DATABASE()"
	if p.Dialect == "postgres" {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	}
	for {
		var n int
		if err := p.Under.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		select {
		case err := <-done:
			t.Fatalf("the read waits for nobody: %v", err)
		case <-time.After(150 * time.Millisecond):
		}
	}
}

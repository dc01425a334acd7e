package session

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// Increments of one row in two transactions do not wait for each other, also
// when a drain has just deleted the slot rows that both connections know: on
// InnoDB an update that finds no row would lock the gap until its transaction
// ends, and the other's new slot row would have to wait for it.
func TestMissingSlotsDoNotQueue(t *testing.T) {
	for dialect, params := range map[string]string{
		"mysql":    "innodb_lock_wait_timeout=20",
		"postgres": "lock_timeout=20s",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, dialect, params)
			var conns [2]*sql.Conn
			for i := range conns {
				c, err := p.Wrapped.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := c.ExecContext(t.Context(), work[0]); err != nil {
					t.Fatal(err)
				}
				conns[i] = c
			}
			execAll(t, p.Wrapped, "UPDATE posts SET views = 5 WHERE id = 1")
			if dialect == "mysql" {
				// Deleted rows stay for a while, and then there is no gap. Only
				// MariaDB can be asked to wait for their end.
				// Transactions of other tests may keep it from that for as long as they like.
				brief, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				_, _ = p.Under.ExecContext(brief, "SET GLOBAL innodb_max_purge_lag_wait = 0")
				cancel()
			}
			var txs [2]*sql.Tx
			for i, c := range conns {
				tx, err := c.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec(work[0]); err != nil {
					t.Fatalf("transaction %d: %v", i, err)
				}
				txs[i] = tx
			}
			for _, tx := range txs {
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			var views int
			if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != 7 {
				t.Errorf("%d, %v, want 7", views, err)
			}
		})
	}
}

package integration

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

func newRowsPair(t *testing.T, dialect string) *twin.Pair {
	params := map[string]string{"mysql": "innodb_lock_wait_timeout=60", "postgres": "lock_timeout=60s"}[dialect]
	return twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{"CREATE TABLE hits (page INT NOT NULL PRIMARY KEY, n INT NOT NULL)", "INSERT INTO hits VALUES (1, 10), (9, 90)"},
		Config: "version: 1\nauto_migrate: true\ntables: {hits: {counters: {n: {}}}}\n",
	})
}

var setUpserts = map[string]string{
	"mysql":    "INSERT INTO hits (page, n) VALUES (5, 100), (1, 100) ON DUPLICATE KEY UPDATE n = VALUES(n)",
	"postgres": "INSERT INTO hits (page, n) VALUES (5, 100), (1, 100) ON CONFLICT (page) DO UPDATE SET n = excluded.n",
}

// TestUpsertMeetsNewRow: an upsert that sets a counter, and finds no row to
// drain, waits for a transaction that inserts the row and counts in it. What has
// been counted is then replaced like the rest, alone and in a transaction.
func TestUpsertMeetsNewRow(t *testing.T) {
	for dialect, upsert := range setUpserts {
		for name, level := range map[string]sql.IsolationLevel{"autocommit": -1, "transaction": sql.LevelReadCommitted} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newRowsPair(t, dialect)
				must := func(_ sql.Result, err error) {
					t.Helper()
					if err != nil {
						t.Error(err)
					}
				}
				first, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				if err != nil {
					t.Fatal(err)
				}
				must(first.Exec("INSERT INTO hits VALUES (5, 50)"))
				for range 3 {
					must(first.Exec("UPDATE hits SET n = n + 1 WHERE page = 5"))
				}
				done := make(chan error, 1)
				go func() {
					done <- func() error {
						if level < 0 {
							_, err := p.Wrapped.ExecContext(t.Context(), upsert)
							return err
						}
						tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
						if err != nil {
							return err
						}
						defer func() { _ = tx.Rollback() }()
						if _, err := tx.Exec(upsert); err != nil {
							return err
						}
						return tx.Commit()
					}()
				}()
				waitUntilBlocked(t, p, dialect, done)
				if err := first.Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				var total int
				if err := p.Wrapped.QueryRow("SELECT SUM(n) FROM hits").Scan(&total); err != nil || total != 290 {
					t.Errorf("%d, want 290: %v", total, err)
				}
			})
		}
	}
}

// waitUntilBlocked waits until the server has somebody who waits for a lock in
// this database, or done has something. MariaDB renews INNODB_TRX when nobody
// has asked for 0.1 s.
func waitUntilBlocked(t *testing.T, p *twin.Pair, dialect string, done chan error) {
	t.Helper()
	q := map[string]string{
		"mysql":    "SELECT COUNT(*) FROM information_schema.INNODB_TRX x JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE x.trx_state = 'LOCK WAIT' AND p.DB = DATABASE()",
		"postgres": "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
	}[dialect]
	for len(done) == 0 {
		var n int
		if err := p.Under.QueryRow(q).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(150 * time.Millisecond)
	}
}

// TestNewRowKeepsNobodyOut: a transaction that has set the counter of a row that
// is new keeps no increment of other rows waiting, and two such transactions
// that have counted before do not wait for one another.
func TestNewRowKeepsNobodyOut(t *testing.T) {
	for dialect, upsert := range map[string]string{
		"mysql":    "INSERT INTO hits (page, n) VALUES (?, 100) ON DUPLICATE KEY UPDATE n = VALUES(n)",
		"postgres": "INSERT INTO hits (page, n) VALUES ($1, 100) ON CONFLICT (page) DO UPDATE SET n = excluded.n",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := newRowsPair(t, dialect)
			options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
			var txs [2]*sql.Tx
			for i := range txs {
				tx, err := p.Wrapped.BeginTx(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				txs[i] = tx
			}
			run := func(db interface {
				ExecContext(context.Context, string, ...any) (sql.Result, error)
			}, q string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
					t.Errorf("%s: %v", q, err)
				}
			}
			for i, tx := range txs {
				run(tx, "UPDATE hits SET n = n + 1 WHERE page = "+[]string{"1", "9"}[i])
			}
			for i, tx := range txs {
				run(tx, upsert, 20+10*i)
			}
			run(p.Wrapped, "UPDATE hits SET n = n + 1 WHERE page = 1")
			for _, tx := range txs {
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
			var total int
			if err := p.Wrapped.QueryRow("SELECT SUM(n) FROM hits").Scan(&total); err != nil || total != 303 {
				t.Errorf("%d, want 303: %v", total, err)
			}
		})
	}
}

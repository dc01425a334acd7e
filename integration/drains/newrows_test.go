package drains

import (
	"context"
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

func newRowsPair(t *testing.T, dialect string) *twin.Pair {
	params := map[string]string{"postgres": "lock_timeout=60s"}[dialect]
	if dialect == "mysql" {
		params = "innodb_lock_wait_timeout=60&" + server.Isolated(t, "READ-COMMITTED")
	}
	return twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{"CREATE TABLE hits (page INT NOT NULL PRIMARY KEY, n INT NOT NULL)", "INSERT INTO hits VALUES (1, 10), (9, 90)"},
		Config: "version: 1\nauto_migrate: true\ntables: {hits: {counters: {n: {}}, placement: connection}}\n",
	})
}

// noError returns what fails the test where a statement has failed.
func noError(t *testing.T) func(sql.Result, error) {
	return func(_ sql.Result, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
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
				must := noError(t)
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
				p.UntilBlocked(t, done)
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

// TestNewRowBlocksNoOtherSession: a transaction that has set the counter of a row that
// is new keeps no increment of other rows waiting, and two such transactions
// that have counted before do not wait for one another.
func TestNewRowBlocksNoOtherSession(t *testing.T) {
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

// TestListMeetsNewRow: a statement that sets the counters of several rows by their keys
// finds one of them missing and waits for another. Meanwhile the missing row is inserted
// and counted in: it is set as it is then, or not at all.
func TestListMeetsNewRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for name, level := range map[string]sql.IsolationLevel{"autocommit": -1, "transaction": sql.LevelReadCommitted} {
			for _, where := range []string{"page IN (5, 9)", "page IN (5, 9, 9, 5)"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := newRowsPair(t, dialect)
					must := noError(t)
					must(p.Wrapped.Exec("UPDATE hits SET n = n + 1 WHERE page = 9")) // so that it only adds to a slot row from now on
					first, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
					if err != nil {
						t.Fatal(err)
					}
					must(first.Exec("UPDATE hits SET n = n + 1 WHERE page = 9"))
					done := make(chan error, 1)
					set := "UPDATE hits SET n = 100 WHERE " + where
					go func() {
						done <- func() error {
							if level < 0 {
								_, err := p.Wrapped.ExecContext(t.Context(), set)
								return err
							}
							tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
							if err != nil {
								return err
							}
							defer func() { _ = tx.Rollback() }()
							if _, err := tx.Exec(set); err != nil {
								return err
							}
							return tx.Commit()
						}()
					}()
					p.UntilBlocked(t, done)
					must(p.Wrapped.Exec("INSERT INTO hits VALUES (5, 50)"))
					var total int
					for range 3 { // on the base row, and in a slot where the configuration says so
						must(p.Wrapped.Exec("UPDATE hits SET n = n + 1 WHERE page = 5"))
					}
					if err := first.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-done; err != nil {
						t.Fatal(err)
					}
					if err := p.Wrapped.QueryRow("SELECT n FROM hits WHERE page = 9").Scan(&total); err != nil || total != 100 {
						t.Errorf("page 9 has %d, want 100: %v", total, err)
					}
					if err := p.Wrapped.QueryRow("SELECT n FROM hits WHERE page = 5").Scan(&total); err != nil || total != 100 && total != 53 {
						t.Errorf("page 5 has %d, want 100 or 53: %v", total, err)
					}
				})
			}
		}
	})
}

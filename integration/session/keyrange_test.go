package session

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

func keyRangePair(t *testing.T, dialect, params string) *twin.Pair {
	return twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{
			"CREATE TABLE boxes (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, moved INT NOT NULL)",
			"INSERT INTO boxes VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (50, 0, 0), (60, 0, 0), (70, 0, 0)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {boxes: {counters: {n: {}}, placement: connection}}\n",
	})
}

// TestRangeLocksNoOtherRow: on MariaDB, where a drain locks base rows, a statement that says
// which keys it is about lets others count, set and insert elsewhere until its transaction
// ends: none of them waits as long as innodb_lock_wait_timeout.
func TestRangeLocksNoOtherRow(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, first := range []string{
			"SELECT n FROM boxes WHERE id BETWEEN 1 AND 3 FOR UPDATE",
			"UPDATE boxes SET n = 5 WHERE id <= 3 AND moved < 10",
			"DELETE FROM boxes WHERE n < 10 AND (id = 1 OR id < 3)",
		} {
			t.Run(level.String()+"/"+first[:6], func(t *testing.T) {
				p := keyRangePair(t, "mysql", "innodb_lock_wait_timeout=1")
				// Tables with a handful of rows are read whole, and InnoDB locks what it reads.
				execAll(t, p.Wrapped, "UPDATE boxes SET n = n + 1 WHERE id = 60")
				execAll(t, p.Under,
					"INSERT INTO boxes SELECT seq, 0, 0 FROM seq_1001_to_3000", "ANALYZE TABLE boxes",
					"INSERT INTO boxes_slots SELECT seq, 0, 0 FROM seq_1001_to_3000", "ANALYZE TABLE boxes_slots")
				for _, id := range []int{1, 2} { // which then have slots
					execAll(t, p.Wrapped, fmt.Sprintf("UPDATE boxes SET n = n + 1 WHERE id = %d", id))
				}
				tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				if _, err := tx.Exec(first); err != nil {
					t.Fatal(err)
				}
				execAll(t, p.Wrapped,
					"UPDATE boxes SET n = n + 1 WHERE id = 60",
					"UPDATE boxes SET n = n + 1 WHERE id = 70", // has no slots
					"INSERT INTO boxes VALUES (65, 0, 0)",
					"UPDATE boxes SET n = 7 WHERE id = 50",
					"UPDATE boxes SET n = n * 2 WHERE id > 60 AND id < 80")
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				var total int
				if err := p.Wrapped.QueryRow("SELECT SUM(n) FROM boxes WHERE id >= 50").Scan(&total); err != nil || total != 2+2+7 {
					t.Errorf("%d, want 11: %v", total, err)
				}
			})
		}
	}
}

// TestRangeMovesAll: while others count, in rows that come and go as well, a statement takes
// all that a range of rows holds, again and again. Nothing is lost, or taken twice.
func TestRangeMovesAll(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for name, level := range map[string]sql.IsolationLevel{
			"autocommit": -1, "read_committed": sql.LevelReadCommitted, "repeatable_read": sql.LevelRepeatableRead,
		} {
			if dialect == "sqlite" && level > 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p := keyRangePair(t, dialect, "")
				var counted atomic.Int64
				count := func(ctx context.Context, i int) error {
					_, err := p.Wrapped.ExecContext(ctx, fmt.Sprintf("UPDATE boxes SET n = n + 1 WHERE id = %d", []int{1, 2, 3, 4, 60}[i%5]))
					if err == nil {
						counted.Add(1)
					}
					return err
				}
				move := func(ctx context.Context) error {
					const q = "UPDATE boxes SET moved = moved + n, n = 0 WHERE id > 1 AND id <= 5"
					if level < 0 {
						_, err := p.Wrapped.ExecContext(ctx, q)
						return err
					}
					tx, err := p.Wrapped.BeginTx(ctx, &sql.TxOptions{Isolation: level})
					if err != nil {
						return err
					}
					defer func() { _ = tx.Rollback() }()
					if _, err := tx.ExecContext(ctx, q); err != nil {
						return err
					}
					return tx.Commit()
				}
				takeAway := func(ctx context.Context, i int) error {
					tx, err := p.Wrapped.BeginTx(ctx, nil)
					if err != nil {
						return err
					}
					defer func() { _ = tx.Rollback() }()
					var held int64
					if err := tx.QueryRowContext(ctx, "SELECT n + moved FROM boxes WHERE id = 5").Scan(&held); err != nil {
						return err
					}
					if held != 3 {
						t.Errorf("round %d: row 5 holds %d of 3", i, held)
					}
					if _, err := tx.ExecContext(ctx, "DELETE FROM boxes WHERE id = 5"); err != nil {
						return err
					}
					return tx.Commit()
				}
				again := func(ctx context.Context, i int) error { // row 5: it is inserted, and counts in
					for _, q := range []string{
						"INSERT INTO boxes VALUES (5, 0, 0)", "UPDATE boxes SET n = n + 1 WHERE id = 5", "UPDATE boxes SET n = n + 2 WHERE id = 5",
					} {
						if err := retried(func() error { _, err := p.Wrapped.ExecContext(ctx, q); return err }); err != nil {
							return err
						}
					}
					return retried(func() error { return takeAway(ctx, i) })
				}
				var wg sync.WaitGroup
				for worker := range 3 {
					wg.Go(func() {
						for i := range 60 {
							if err := retried(func() error { return count(t.Context(), worker+i) }); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Go(func() {
					for range 25 {
						if err := retried(func() error { return move(t.Context()) }); err != nil {
							t.Error(err)
							return
						}
					}
				})
				wg.Go(func() {
					for i := range 8 {
						if err := again(t.Context(), i); err != nil {
							t.Errorf("row 5: %v", err)
							return
						}
					}
				})
				wg.Wait()
				var total int64
				if err := p.Wrapped.QueryRow("SELECT SUM(n + moved) FROM boxes").Scan(&total); err != nil || total != counted.Load() {
					t.Errorf("%d of %d: %v", total, counted.Load(), err)
				}
			})
		}
	})
}

// retried runs f until it is not refused because of what others do.
func retried(f func() error) error {
	err := f()
	for conflict(err) {
		err = f()
	}
	return err
}

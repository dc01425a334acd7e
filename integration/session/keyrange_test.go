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
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE boxes (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, moved INT NOT NULL)",
						"INSERT INTO boxes VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (50, 0, 0), (60, 0, 0), (70, 0, 0)",
					},
					Config: "version: 1\nauto_migrate: true\ntables: {boxes: {counters: {n: {}}, placement: connection}}\n",
				})
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

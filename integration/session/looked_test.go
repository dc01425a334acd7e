package session

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that has set a counter of a row without slots keeps out increments that would
// make one; and it waits for those that have made one.
func TestLookedRowGetsNoSlots(t *testing.T) {
	eachCertain(t, func(c *certain) {
		own, count := c.open(c.p.Wrapped), c.open(c.p.Wrapped)
		for i := range rounds {
			set := fmt.Sprintf("UPDATE posts SET views = %d WHERE id = 1", 10*i)
			own.exec(set, "BEGIN", set)
			count.start(c.increment, false)
			if count.finished() {
				c.Fatal("an increment has not waited for a transaction that has set the counter")
			}
			own.start("SELECT views FROM posts WHERE id = 1", true)
			if own.ends(); own.n != int64(10*i) {
				c.Fatalf("the transaction reads %d, and has set %d", own.n, 10*i)
			}
			own.exec("COMMIT")
			count.ends()
			c.total(int64(10*i) + 1)

			own.exec(set)
			count.exec("BEGIN", c.increment)
			own.exec("BEGIN")
			own.start("UPDATE posts SET views = 5 WHERE id = 1", false)
			if own.finished() {
				c.Fatal("a transaction has not waited for an increment of the counter that it sets")
			}
			count.exec("COMMIT")
			own.ends()
			own.exec("COMMIT")
			c.total(5)
		}
	})
}

// Numbers that transactions draw from a counter are drawn once, beside increments that
// others make in slots, which come and go between any two of their statements.
func TestDrawnInTransactions(t *testing.T) {
	draws := [][]string{
		{"UPDATE stock SET n = n + 1 WHERE id = 1", "SELECT n FROM stock WHERE id = 1"},
		{"SELECT n FROM stock WHERE id = 1 FOR UPDATE", "UPDATE stock SET n = %d WHERE id = 1"},
		{"UPDATE stock SET n = n + 1 WHERE id = 1", "SAVEPOINT s", "UPDATE stock SET n = n + 1 WHERE id = 1", "SELECT n FROM stock WHERE id = 1"},
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(strings.ReplaceAll(level.String(), " ", "-"), func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, "")
				var wg sync.WaitGroup
				var mu sync.Mutex
				drawn, counted := map[int64]int{}, int64(0)
				for i := range 6 {
					wg.Go(func() {
						for range 12 {
							n, added := int64(0), int64(1)
							err := againAt(level, func() (err error) {
								if i >= len(draws) {
									_, err = slotted.ExecContext(t.Context(), "UPDATE stock SET n = n + 1 WHERE id = 1")
									return err
								}
								n, added, err = drawOne(t.Context(), p.Wrapped, level, draws[i])
								return err
							})
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							counted += added
							if n > 0 {
								drawn[n]++
							}
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				var total int64
				if err := slotted.QueryRow("SELECT n FROM stock WHERE id = 1").Scan(&total); err != nil {
					t.Fatal(err)
				}
				if total != counted || len(drawn) != 36 {
					t.Errorf("the total is %d of %d, %d numbers drawn", total, counted, len(drawn))
				}
				for n, times := range drawn {
					if times != 1 || n > total {
						t.Errorf("number %d has been drawn %d times", n, times)
					}
				}
			})
		}
	})
}

// drawOne draws one number in a transaction. Added is what it has added to the counter.
func drawOne(ctx context.Context, db *sql.DB, level sql.IsolationLevel, draw []string) (n, added int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	for _, q := range draw {
		switch {
		case strings.HasPrefix(q, "SELECT"):
			err = tx.QueryRowContext(ctx, q).Scan(&n)
		case strings.Contains(q, "%d"):
			n++
			added++
			_, err = tx.ExecContext(ctx, fmt.Sprintf(q, n))
		default:
			if strings.HasPrefix(q, "UPDATE") {
				added++
			}
			_, err = tx.ExecContext(ctx, q)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return n, added, tx.Commit()
}

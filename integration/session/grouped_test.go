package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// groupable makes a table of which increments that overlap share a statement on the base
// row, without a slot table and with one.
func groupable(t *testing.T, dialect, slots string) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, sold INT NOT NULL, note VARCHAR(40), CONSTRAINT stock_sold CHECK (sold <= 300))",
			"INSERT INTO stock VALUES (1, 0, 0, ''), (2, 500, 0, ''), (3, 0, 0, '')",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}, sold: {}}" + slots + "}}\n",
	})
	p.Wrapped.SetMaxOpenConns(clients)
	p.Wrapped.SetMaxIdleConns(clients)
	return p
}

const clients = 24

// crowd runs f so many times by each of many callers at once.
func crowd(t *testing.T, times int, f func(ctx context.Context, caller, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for caller := range clients {
		wg.Go(func() {
			for i := range times {
				if err := f(t.Context(), caller, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// groupedSoFar is how many executions on stock, sessions or documents have shared a statement on the base row.
func groupedSoFar(dialect string) (n uint64) {
	for _, s := range slotsql.Stats() {
		ours := func(table string) bool { return slices.Contains([]string{"stock", "sessions", "documents"}, table) }
		if s.Dialect == dialect && slices.ContainsFunc(s.Tables, ours) {
			n += s.Grouped
		}
	}
	return n
}

func forGroups(t *testing.T, f func(t *testing.T, dialect string, p *twin.Pair)) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		for name, slots := range map[string]string{"none": ", slots: 0", "slots": ", slots: 8, placement: adaptive"} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				p := groupable(t, dialect, slots)
				f(t, dialect, p)
				if got := value(t, p.Under, "SELECT COUNT(*) FROM stock"); got != "3" {
					t.Errorf("%s rows", got)
				}
			})
		}
	}
}

// untilGrouped runs rounds of executions until some have shared a statement, and returns how many it has run.
func untilGrouped(t *testing.T, dialect string, f func(round int)) (rounds int) {
	t.Helper()
	for before := groupedSoFar(dialect); groupedSoFar(dialect) == before; rounds++ {
		if rounds == 500 { // over a fast parent, few overlap
			t.Fatal("no execution has shared a statement")
		}
		f(rounds)
	}
	return rounds
}

// Increments of one row, with other columns beside them.
func TestGroupedIncrements(t *testing.T) {
	forGroups(t, func(t *testing.T, dialect string, p *twin.Pair) {
		count := map[string]string{
			"mysql":    "UPDATE stock SET n = n + ?, note = ? WHERE id = ?",
			"postgres": "UPDATE stock SET n = n + $1, note = $2 WHERE id = $3",
			"sqlite":   "UPDATE stock SET n = n + ?, note = ? WHERE id = ?",
		}[dialect]
		rounds := untilGrouped(t, dialect, func(int) {
			crowd(t, 60, func(ctx context.Context, caller, i int) error {
				res, err := p.Wrapped.ExecContext(ctx, count, 1+i%5, fmt.Sprintf("%d of %d", i, caller), 1)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); n != 1 || err != nil {
					return fmt.Errorf("%d rows affected: %w", n, err)
				}
				return nil
			})
		})
		if got, want := value(t, p.Wrapped, "SELECT n FROM stock WHERE id = 1"), fmt.Sprint(rounds*clients*12*(1+2+3+4+5)); got != want {
			t.Errorf("total %s, want %s", got, want)
		}
		if got := value(t, p.Wrapped, "SELECT note FROM stock WHERE id = 1"); len(got) < 6 {
			t.Errorf("note %q is none of those that were written", got)
		}
	})
}

// A stock is sold down to the last unit, by amounts that differ, and never below.
func TestGroupedGuard(t *testing.T) {
	forGroups(t, func(t *testing.T, dialect string, p *twin.Pair) {
		take := map[string]string{
			"mysql":    "UPDATE stock SET n = n - ? WHERE id = 2 AND n >= ?",
			"postgres": "UPDATE stock SET n = n - $1 WHERE id = 2 AND n >= $2",
			"sqlite":   "UPDATE stock SET n = n - ? WHERE id = 2 AND n >= ?",
		}[dialect]
		var sold atomic.Int64
		crowd(t, 40, func(ctx context.Context, caller, i int) error {
			amount := 1
			if caller%8 == 0 {
				amount = 3
			}
			res, err := p.Wrapped.ExecContext(ctx, take, amount, amount)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			sold.Add(n * int64(amount))
			return err
		})
		if got := value(t, p.Wrapped, "SELECT n FROM stock WHERE id = 2"); sold.Load() != 500 || got != "0" {
			t.Errorf("%d of 500 units sold, %s left", sold.Load(), got)
		}
	})
}

// Numbers drawn are unique and without gaps, and each caller's own ascend.
func TestGroupedNumbers(t *testing.T) {
	forGroups(t, func(t *testing.T, dialect string, p *twin.Pair) {
		const each = 40
		var mu sync.Mutex
		seen := map[int64]bool{}
		last := make([]int64, clients)
		crowd(t, each, func(ctx context.Context, caller, _ int) error {
			var n int64
			var err error
			if dialect == "mysql" {
				var res sql.Result
				if res, err = p.Wrapped.ExecContext(ctx, "UPDATE stock SET n = LAST_INSERT_ID(n + 1) WHERE id = 3"); err == nil {
					n, err = res.LastInsertId()
				}
			} else {
				err = p.Wrapped.QueryRowContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 3 RETURNING n").Scan(&n)
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[n] || n <= last[caller] {
				return fmt.Errorf("number %d comes twice, or after %d", n, last[caller])
			}
			seen[n], last[caller] = true, n
			return nil
		})
		if len(seen) != clients*each || !seen[1] || !seen[clients*each] {
			t.Errorf("%d numbers, want %d from 1", len(seen), clients*each)
		}
	})
}

// A constraint refuses those that pass its bound, with the engine's own error, and no
// others; callers who give up are counted once or not at all.
func TestGroupedErrors(t *testing.T) {
	forGroups(t, func(t *testing.T, dialect string, p *twin.Pair) {
		var refused, counted, unknown atomic.Int64
		crowd(t, 20, func(ctx context.Context, caller, i int) error {
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			if caller%6 == 5 && i%4 == 0 {
				go cancel()
			}
			_, err := p.Wrapped.ExecContext(own, "UPDATE stock SET sold = sold + 1 WHERE id = 1")
			switch {
			case own.Err() != nil && ctx.Err() == nil && !errors.Is(err, sql.ErrConnDone):
				unknown.Add(1) // also without an error: glebarez/go-sqlite has none for a statement that it did not begin
			case err == nil:
				counted.Add(1)
			default:
				refused.Add(1)
			}
			return nil
		})
		var total int64
		if err := p.Wrapped.QueryRow("SELECT sold FROM stock WHERE id = 1").Scan(&total); err != nil {
			t.Fatal(err)
		}
		if total != 300 || counted.Load() > total || counted.Load()+unknown.Load() < total || refused.Load() == 0 {
			t.Errorf("%d in the row, %d counted, %d interrupted, %d refused", total, counted.Load(), unknown.Load(), refused.Load())
		}
	})
}

// On MySQL a session tells the number that it has drawn, whichever session has sent the statement.
func TestGroupedInsertID(t *testing.T) {
	p := groupable(t, "mysql", ", slots: 0")
	rounds := 0
	for before := groupedSoFar("mysql"); groupedSoFar("mysql") == before; rounds++ {
		if rounds == 500 { // over a fast parent, few overlap
			t.Fatal("no execution has shared a statement")
		}
		crowd(t, 1, func(ctx context.Context, caller, _ int) error {
			conn, err := p.Wrapped.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			for range 20 {
				res, err := conn.ExecContext(ctx, "UPDATE stock SET n = LAST_INSERT_ID(n + ?) WHERE id = 3", 1+caller%3)
				if err != nil {
					return err
				}
				want, _ := res.LastInsertId()
				if caller%2 == 0 {
					// It sets none, and so leaves the number as it is.
					if _, err := conn.ExecContext(ctx, "INSERT INTO stock SELECT id, n, sold, note FROM stock WHERE id < 0"); err != nil {
						return err
					}
				}
				var got int64
				if err := conn.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&got); err != nil || got != want {
					return fmt.Errorf("the session tells %d, want %d: %w", got, want, err)
				}
			}
			return nil
		})
	}
}

package session

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Of the last 1,000 units of a stock exactly 1,000 are sold, to 64 clients that race for
// them one by one.
func TestGroupedLastUnits(t *testing.T) {
	const racers, units = 64, 1000
	forGroups(t, func(t *testing.T, _ string, p *twin.Pair) {
		p.Wrapped.SetMaxOpenConns(racers)
		p.Wrapped.SetMaxIdleConns(racers)
		if _, err := p.Under.Exec("UPDATE stock SET n = 1000 WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		var sold atomic.Int64
		buy := func(ctx context.Context) (bool, error) {
			res, err := p.Wrapped.ExecContext(ctx, "UPDATE stock SET n = n - 1 WHERE id = 2 AND n >= 1")
			if err != nil {
				return false, err
			}
			n, err := res.RowsAffected()
			return n == 1, err
		}
		var wg sync.WaitGroup
		for range racers {
			wg.Go(func() {
				for {
					ok, err := buy(t.Context())
					if err != nil {
						t.Error(err)
					}
					if !ok {
						return
					}
					sold.Add(1)
				}
			})
		}
		wg.Wait()
		if left := value(t, p.Wrapped, "SELECT n FROM stock WHERE id = 2"); sold.Load() != units || left != "0" {
			t.Errorf("%d of %d units sold, %s left", sold.Load(), units, left)
		}
	})
}

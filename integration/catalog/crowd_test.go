package catalog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// crowd is how many callers there are, and patience their deadline: not what a
// statement may take, but what none takes unless everything stands still.
const (
	crowd    = 40
	patience = 5 * time.Minute
)

// counts runs n increments of counter tables by each caller, each under a deadline of its own.
func counts(t *testing.T, p *twin.Pair, tables, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			for j := range n {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err := p.Wrapped.ExecContext(ctx, fmt.Sprintf("UPDATE c%d SET n = n + 1 WHERE id = 1", (i+j)%tables))
				cancel()
				if err != nil {
					t.Errorf("caller %d, statement %d: %v", i, j, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Many callers with deadlines go on while a table that is none of theirs is truncated
// again and again, among many tables, for as long as they have something to do.
func TestCrowdBesideUnrelatedDDL(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			p := newPair(t, dialect, 271)
			var done atomic.Bool
			var truncating sync.WaitGroup
			truncating.Go(func() {
				for i := 0; i < 20 || !done.Load(); i++ {
					db := p.Wrapped
					if i%2 == 0 {
						db = p.Under
					}
					if _, err := db.ExecContext(t.Context(), "TRUNCATE TABLE o0"); err != nil {
						t.Errorf("TRUNCATE: %v", err)
						return
					}
				}
			})
			counts(t, p, 5, 60)
			done.Store(true)
			truncating.Wait()
		})
	}
}

// A program that starts cold with many callers among many tables gets all their first
// statements through.
func TestCrowdStartsCold(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			p := newPair(t, dialect, 400)
			cold := *p
			cold.Wrapped = open(t, p, parent(t, p), counters)
			counts(t, &cold, counters, 1)
		})
	}
}

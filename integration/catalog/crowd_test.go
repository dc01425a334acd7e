package catalog

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// crowd is how many callers there are, and patience their deadline: not what a
// statement may take, but what none takes unless everything stands still.
const (
	crowd    = 40
	patience = 20 * time.Second
)

// counts runs increments of counter tables, each under a deadline of its own, until
// stop is closed, and then n more.
func counts(t *testing.T, p *twin.Pair, tables int, stop <-chan struct{}, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			last := n
			for j := i; last > 0; j++ {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err := p.Wrapped.ExecContext(ctx, fmt.Sprintf("UPDATE c%d SET n = n + 1 WHERE id = 1", j%tables))
				cancel()
				if err != nil {
					t.Errorf("caller %d, statement %d: %v", i, j-i, err)
					return
				}
				select {
				case <-stop:
					last--
				default:
				}
			}
		})
	}
	wg.Wait()
}

// Many callers with deadlines go on while a table that is none of theirs is truncated
// again and again, among many tables.
func TestCrowdBesideUnrelatedDDL(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			p := newPair(t, dialect, 271)
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for i := range 60 {
					db := p.Wrapped
					if i%2 == 0 {
						db = p.Under
					}
					if _, err := db.ExecContext(t.Context(), "TRUNCATE TABLE o0"); err != nil {
						t.Errorf("TRUNCATE: %v", err)
						return
					}
				}
			}()
			counts(t, p, 5, stop, 20)
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
			stop := make(chan struct{})
			close(stop)
			counts(t, &cold, counters, stop, 1)
		})
	}
}

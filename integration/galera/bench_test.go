package galera

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkIncrements and BenchmarkTransactions count one page from 30
// goroutines on three nodes, and BenchmarkBoundedDecrements takes from one budget: plain and
// wrapped in turns, so that what else the machine does falls on both. They report
//
//	plain/s, wrapped/s              acknowledged in a second, medians over the turns
//	ratio                           median of wrapped to plain
//	plain-failed-%, wrapped-failed-% statements or transactions that have failed
//
// How to run them, and what they gave: docs/benchmarks.md.
func BenchmarkIncrements(b *testing.B) {
	benchmark(b, pages, func(ctx context.Context, db *sql.DB) error {
		return affectsOne(db.ExecContext(ctx, inc, 1))
	})
}

// BenchmarkTransactions has an INSERT between the increment and the commit.
func BenchmarkTransactions(b *testing.B) {
	benchmark(b, pages, func(ctx context.Context, db *sql.DB) error { return visit(ctx, db, 1) })
}

// BenchmarkBoundedDecrements takes from a budget that is far from its bound.
func BenchmarkBoundedDecrements(b *testing.B) {
	const budget = 1_000_000_000
	benchmark(b, subject{
		make: func(t testing.TB, wrapped bool) *database { return newBudget(t, wrapped, budget) },
		check: func(t testing.TB, d *database, done *counted) {
			for node := range d.dsns {
				if got, want := d.budgetLeft(t, node), budget-done[1].Load(); got != want {
					t.Errorf("node %d: %d are left, want %d", node+1, got, want)
				}
			}
		},
	}, func(ctx context.Context, db *sql.DB) error {
		return affectsOne(db.ExecContext(ctx, spend))
	})
}

const (
	turns = 5
	turn  = 2 * time.Second
)

// A subject is what is measured: how a database is made for it, and how the
// totals are compared with what has been acknowledged.
type subject struct {
	make  func(t testing.TB, wrapped bool) *database
	check func(t testing.TB, d *database, done *counted)
}

var pages = subject{newDatabase, func(t testing.TB, d *database, done *counted) { d.check(t, done) }}

func benchmark(b *testing.B, s subject, op func(ctx context.Context, db *sql.DB) error) {
	for way, open := range ways {
		b.Run(strings.ReplaceAll(way, " ", "_"), func(b *testing.B) {
			var sides [2]*database
			var done [2]counted
			var failed, rates [2][]float64
			for i := range sides {
				sides[i] = s.make(b, i == 1)
				open(b, sides[i], "")
				perSecond(sides[i], &done[i], 300*time.Millisecond, op) // connections, slots
			}
			b.ResetTimer()
			for range turns {
				for i, d := range sides {
					rate, bad := perSecond(d, &done[i], turn, op)
					rates[i], failed[i] = append(rates[i], rate), append(failed[i], bad)
				}
			}
			b.StopTimer()
			var ratios []float64
			for i := range turns {
				ratios = append(ratios, rates[1][i]/max(rates[0][i], 1))
			}
			for i, name := range []string{"plain", "wrapped"} {
				b.ReportMetric(median(rates[i]), name+"/s")
				b.ReportMetric(100*median(failed[i]), name+"-failed-%")
				s.check(b, sides[i], &done[i])
			}
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// perSecond runs op for a while, and returns how often it has succeeded per
// second, and the share of tries that have failed.
func perSecond(d *database, done *counted, limit time.Duration, op func(ctx context.Context, db *sql.DB) error) (rate, failed float64) {
	var mu sync.Mutex
	var good, bad int64
	start := time.Now()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			var g, f int64
			for time.Since(start) < limit {
				// A context that can end, as in most applications.
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if op(ctx, d.dbs[i%len(d.dbs)]) == nil {
					g++
				} else {
					f++
				}
				cancel()
			}
			mu.Lock()
			defer mu.Unlock()
			good, bad = good+g, bad+f
		})
	}
	wg.Wait()
	done[1].Add(good)
	return float64(good) / time.Since(start).Seconds(), float64(bad) / float64(max(good+bad, 1))
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

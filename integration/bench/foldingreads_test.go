package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// BenchmarkFoldingReads measures increments of one hot row by 64 clients beside reads that fold its slots first, twenty a second,
// and without them, by turns.
func BenchmarkFoldingReads(b *testing.B) {
	const clients, between = 64, 50 * time.Millisecond
	const read = "SELECT views, RANK() OVER (ORDER BY views) FROM pages ORDER BY id LIMIT 1"
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue
		}
		for _, mode := range []struct {
			name string
			op   operation
			away time.Duration
		}{{"autocommit", increment, 0}, {"transaction-1ms", visitTx, time.Millisecond}} {
			b.Run(e.name+"/"+mode.name, func(b *testing.B) {
				if b.N > 1 {
					return
				}
				_, s := benchPair(b, e.dialect, e.id, clients, mode.away)
				s.db.SetMaxOpenConns(clients + 1)
				driveFor(b, s, mode.op, clients)
				var without, beside []float64
				reads, folded := 0, foldedFirst()
				for start := time.Now(); time.Since(start) < 2*enough; {
					without = append(without, 1e9/driveFor(b, s, mode.op, clients))
					ctx, cancel := context.WithCancel(b.Context())
					var reader sync.WaitGroup
					reader.Go(func() {
						for at := time.NewTicker(between); ctx.Err() == nil; reads++ {
							var views, rank int64
							if err := s.db.QueryRowContext(b.Context(), read).Scan(&views, &rank); err != nil {
								b.Error(err)
								return
							}
							select {
							case <-at.C:
							case <-ctx.Done():
							}
						}
					})
					beside = append(beside, 1e9/driveFor(b, s, mode.op, clients))
					cancel()
					reader.Wait()
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(without), "without/s")
				b.ReportMetric(median(beside), "beside/s")
				b.ReportMetric(median(beside)/median(without), "kept")
				b.ReportMetric(float64(reads)/(float64(len(beside))*turn.Seconds()), "reads/s")
				b.ReportMetric(float64(foldedFirst()-folded)/float64(max(reads, 1)), "folded/read")
				exact(b, s)
			})
		}
	}
}

// foldedFirst is how many reads have folded slots first.
func foldedFirst() (n uint64) {
	for _, st := range slotsql.Stats() {
		n += st.FoldedFirst
	}
	return n
}

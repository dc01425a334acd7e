package bench

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

var stallRows = flag.Int("stall.rows", 4_000_000, "rows of the base table in BenchmarkStall")

// BenchmarkStall measures the longest statement of plain clients that update rows of a
// large table: through `slotsql drain` with nothing to fold, and without.
func BenchmarkStall(b *testing.B) {
	fill := map[string]string{
		"mysql":    "INSERT INTO items SELECT seq, 0, '' FROM seq_1_to_%d",
		"postgres": "INSERT INTO items SELECT n, 0, '' FROM generate_series(1, %d) AS n",
	}
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one writer: whichever session writes stalls the others
		}
		b.Run(e.name, func(b *testing.B) {
			p := twin.New(b, twin.Options{
				Dialect: e.dialect,
				Schema: []string{
					"CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
					fmt.Sprintf(fill[e.dialect], *stallRows),
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables: {items: {counters: {n: {}}}}\n",
			})
			if err := p.Wrapped.PingContext(b.Context()); err != nil {
				b.Fatal(err)
			}
			c := twin.Connector(b, p)
			quiet := longest(b, p, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
				case <-time.After(3 * time.Second):
				}
				return nil
			})
			drain := longest(b, p, func(ctx context.Context) error {
				_, err := slotsql.Drain(ctx, c, slotsql.DrainOptions{})
				return err
			})
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(quiet.Seconds()*1000, "without-ms")
			b.ReportMetric(drain.Seconds()*1000, "drain-ms")
		})
	}
}

// longest is how long the longest statement took of four plain clients while f ran.
func longest(b *testing.B, p *twin.Pair, f func(context.Context) error) time.Duration {
	b.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var most atomic.Int64
	s := &side{db: p.Under, dialect: p.Dialect}
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				start := time.Now()
				if _, err := s.db.ExecContext(b.Context(), s.q("UPDATE items SET note = ? WHERE id = ?"), "x", 1+rand.IntN(*stallRows)); err != nil {
					b.Error(err)
					return
				}
				for took := int64(time.Since(start)); ; {
					if was := most.Load(); took <= was || most.CompareAndSwap(was, took) {
						break
					}
				}
			}
		})
	}
	err := f(b.Context())
	stop.Store(true)
	wg.Wait()
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(most.Load())
}

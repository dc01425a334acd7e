package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkLongTransaction measures what the layouts make of the journal's seed: a
// transaction that moves thousands of things from one status to another, an
// increment of each in a row of an aggregation table, beside clients that do so
// outside transactions. It says how long the increments of the transaction take at
// its beginning and at its end, how many the others make meanwhile, and what
// reading the rows takes at the end; and checks the totals.
func BenchmarkLongTransaction(b *testing.B) {
	const (
		moves   = 5000
		clients = 8
	)
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one writer
		}
		for _, layout := range []string{"dedicated", "journal"} {
			b.Run(e.name+"/"+layout, func(b *testing.B) {
				p := twin.New(b, twin.Options{Dialect: e.dialect, Schema: []string{
					"CREATE TABLE tallies (status VARCHAR(10) PRIMARY KEY, n BIGINT NOT NULL)",
					"INSERT INTO tallies VALUES ('new', 0), ('paid', 0)",
				}, Config: "version: 1\nauto_migrate: true\ntables: {tallies: {counters: {n: {}}, layout: " + layout + "}}\nrollup: {interval: 1s}\n"})
				p.Wrapped.SetMaxOpenConns(clients + 4)
				p.Wrapped.SetMaxIdleConns(clients + 4)
				connectAll(b, p.Wrapped, clients)
				for b.Loop() {
					longTransaction(b, p, moves, clients)
				}
			})
		}
	}
}

func longTransaction(b *testing.B, p *twin.Pair, moves, clients int) {
	var before, n int64
	const total = "SELECT n FROM tallies WHERE status = 'paid'"
	scan := func(to *int64) time.Duration {
		start := time.Now()
		if err := p.Wrapped.QueryRowContext(b.Context(), total).Scan(to); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	scan(&before)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	var short atomic.Int64
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := p.Wrapped.ExecContext(b.Context(), "UPDATE tallies SET n = n + 1 WHERE status = 'paid'"); err != nil {
					b.Error(err)
					return
				}
				short.Add(1)
			}
		})
	}
	tx, err := p.Wrapped.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	start, at := time.Now(), time.Now()
	var tenth []time.Duration
	for i := range moves {
		for _, q := range []string{"UPDATE tallies SET n = n - 1 WHERE status = 'new'", "UPDATE tallies SET n = n + 1 WHERE status = 'paid'"} {
			if _, err := tx.ExecContext(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
		if i%(moves/10) == moves/10-1 {
			tenth = append(tenth, time.Since(at))
			at = time.Now()
		}
	}
	took, counted := time.Since(start), short.Load()
	var reads []float64
	for range 50 {
		reads = append(reads, float64(scan(&n).Microseconds()))
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	stop()
	wg.Wait()
	scan(&n)
	if want := before + int64(moves) + short.Load(); n != want {
		b.Fatalf("a total of %d, want %d", n, want)
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(2*moves/10) }
	b.ReportMetric(per(tenth[0]), "first-µs")
	b.ReportMetric(per(tenth[9]), "last-µs")
	b.ReportMetric(float64(counted)/took.Seconds(), "beside/s")
	b.ReportMetric(median(reads), "read-µs")
	for _, s := range slotsql.RollUps() {
		if s.Errors > 0 {
			b.Errorf("%+v", s)
		}
	}
}

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkRollUp measures how many slot rows a pass moves in a minute, and what
// roll-ups cost increments: the 99th percentile of their latency with a worker
// that makes a pass each five seconds, as by default, by that without one, in
// turns, and the median of these ratios.
func BenchmarkRollUp(b *testing.B) {
	for _, e := range benchEngines {
		for _, c := range []struct{ keys, slots int }{{100000, 1}, {10000, 10}} {
			b.Run(fmt.Sprintf("%s/pass/keys=%d,slots=%d", e.name, c.keys, c.slots), func(b *testing.B) {
				r := newRollUpBench(b, e.dialect, e.id, c.keys)
				var rate []float64
				for range 3 {
					r.fill(b, c.keys, c.slots)
					report, err := slotsql.RollUp(b.Context(), twin.Connector(b, r.Pair), slotsql.RollUpOptions{Idle: 24 * time.Hour})
					if err != nil || report.Moved() != c.keys*c.slots {
						b.Fatalf("%+v, %v", report, err)
					}
					rate = append(rate, float64(report.Moved())/report.Took.Minutes())
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(rate), "rows/min")
			})
		}
		for _, mode := range []struct {
			name string
			tx   bool
			keys int
		}{{"hot", false, 1}, {"keys=1000", false, 1000}, {"keys=1000,tx", true, 1000}} {
			if mode.tx && e.dialect == "sqlite" {
				continue // its transactions fail because others write, with or without a roll-up
			}
			b.Run(e.name+"/beside/"+mode.name, func(b *testing.B) {
				r := newRollUpBench(b, e.dialect, e.id, mode.keys)
				r.beside(b, mode.tx, mode.keys)
			})
		}
	}
}

type rollUpBench struct {
	*twin.Pair
	counted atomic.Int64
}

func newRollUpBench(b *testing.B, dialect, id string, keys int) *rollUpBench {
	b.Helper()
	p := twin.New(b, twin.Options{Dialect: dialect, Schema: []string{
		"CREATE TABLE pages (id BIGINT PRIMARY KEY, title VARCHAR(80) NOT NULL, views BIGINT NOT NULL)",
		"CREATE TABLE visits (id " + id + ", page_id BIGINT NOT NULL)",
	}, Config: "version: 1\nauto_migrate: true\ntables:\n  pages:\n    counters: {views: {}}\n"})
	r := &rollUpBench{Pair: p}
	r.values(b, "INSERT INTO pages (id, title, views) VALUES ", "(%d, 'page', 0)", keys, 1)
	p.Wrapped.SetMaxOpenConns(besideClients)
	p.Wrapped.SetMaxIdleConns(besideClients)
	connectAll(b, p.Wrapped, besideClients)
	return r
}

// values runs an INSERT of many rows.
func (r *rollUpBench) values(b *testing.B, insert, row string, keys, each int) {
	b.Helper()
	for first := 0; first < keys; first += 1000 {
		var list []string
		for k := first; k < min(keys, first+1000); k++ {
			for s := range each {
				if each > 1 || strings.Count(row, "%d") > 1 {
					list = append(list, fmt.Sprintf(row, k, s))
				} else {
					list = append(list, fmt.Sprintf(row, k))
				}
			}
		}
		if _, err := r.Under.ExecContext(b.Context(), insert+strings.Join(list, ", ")); err != nil {
			b.Fatal(err)
		}
	}
}

// fill makes slot rows that hold something.
func (r *rollUpBench) fill(b *testing.B, keys, slots int) {
	b.Helper()
	if _, err := r.Under.ExecContext(b.Context(), "DELETE FROM pages_slots"); err != nil {
		b.Fatal(err)
	}
	r.values(b, "INSERT INTO pages_slots (id, slot, views) VALUES ", "(%d, %d, 3)", keys, slots)
	if r.Dialect == "postgres" {
		if _, err := r.Under.ExecContext(b.Context(), "VACUUM ANALYZE pages_slots"); err != nil {
			b.Fatal(err)
		}
	}
}

const (
	besideClients = 16
	besideTurn    = 10 * time.Second
	besideTurns   = 5
	besideEvery   = 5 * time.Second
)

func (r *rollUpBench) beside(b *testing.B, tx bool, keys int) {
	b.Helper()
	s := &side{db: r.Wrapped, dialect: r.Dialect, wrapped: true}
	op := func(ctx context.Context) error {
		key := rand.IntN(keys)
		if !tx {
			_, err := s.db.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), key)
			return err
		}
		t, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer t.Rollback()
		if _, err := t.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), key); err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, s.q("INSERT INTO visits (page_id) VALUES (?)"), key); err != nil {
			return err
		}
		return t.Commit()
	}
	var moved atomic.Int64
	turn := func(with bool) (p50, p99, rate float64) {
		ctx, cancel := context.WithCancel(b.Context())
		var worker sync.WaitGroup
		if with {
			c := twin.Connector(b, r.Pair)
			worker.Go(func() {
				if err := slotsql.RunRollUp(
					ctx,
					c,
					slotsql.RollUpOptions{Interval: besideEvery, Idle: besideEvery, Pass: func(r slotsql.RollUpReport, err error) {
						if err != nil && ctx.Err() == nil {
							b.Error(err)
						}
						moved.Add(int64(r.Moved()))
					}},
				); err != nil {
					b.Error(err)
				}
			})
		}
		took := make([][]float64, besideClients)
		var clients sync.WaitGroup
		end := time.Now().Add(besideTurn)
		for i := range besideClients {
			clients.Go(func() {
				for time.Now().Before(end) {
					start := time.Now()
					if err := op(b.Context()); err != nil {
						b.Error(err)
						return
					}
					took[i] = append(took[i], float64(time.Since(start).Microseconds()))
					r.counted.Add(1)
				}
			})
		}
		clients.Wait()
		cancel()
		worker.Wait()
		all := slices.Concat(took...)
		slices.Sort(all)
		return all[len(all)/2], all[len(all)*99/100], float64(len(all)) / besideTurn.Seconds()
	}
	turn(false)
	var without, with, p99, p50, rate []float64
	for i := range besideTurns {
		var a, b [3]float64
		if i%2 == 0 {
			a[0], a[1], a[2] = turn(false)
			b[0], b[1], b[2] = turn(true)
		} else {
			b[0], b[1], b[2] = turn(true)
			a[0], a[1], a[2] = turn(false)
		}
		without, with = append(without, a[1]), append(with, b[1])
		p50, p99, rate = append(p50, b[0]/a[0]), append(p99, b[1]/a[1]), append(rate, b[2]/a[2])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(without), "p99-without-us")
	b.ReportMetric(median(with), "p99-with-us")
	b.ReportMetric(median(p99), "p99-ratio")
	b.ReportMetric(median(p50), "p50-ratio")
	b.ReportMetric(median(rate), "throughput-ratio")
	b.ReportMetric(float64(moved.Load())/(besideTurn*besideTurns).Minutes(), "rows/min")
	var views int64
	if err := r.Wrapped.QueryRowContext(b.Context(), "SELECT SUM(views) FROM pages").Scan(&views); err != nil || views != r.counted.Load() {
		b.Errorf("%d increments acknowledged, %d counted, %v", r.counted.Load(), views, err)
	}
}

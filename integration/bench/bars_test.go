package bench

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// barPair is a pair with a few rows, and slots where they are hot.
func barPair(b *testing.B, dialect string, clients int) (p *twin.Pair, plain, wrapped *side) {
	b.Helper()
	p = twin.New(b, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO items VALUES (1, 0, ''), (2, 0, ''), (3, 0, '')",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables: {items: {counters: {n: {}}}}\n",
		Params: benchParams(dialect),
	})
	plain = &side{db: p.Plain, dialect: dialect}
	wrapped = &side{db: p.Wrapped, dialect: dialect, wrapped: true}
	for _, s := range []*side{plain, wrapped} {
		s.db.SetMaxOpenConns(clients)
		s.db.SetMaxIdleConns(clients)
	}
	return p, plain, wrapped
}

// BenchmarkColdRead measures the plain point read of a row that has no slots, of a table
// that may have some.
func BenchmarkColdRead(b *testing.B) {
	read := func(q string, args ...any) operation {
		return func(ctx context.Context, s *side) error {
			var id, n int64
			return s.db.QueryRowContext(ctx, s.q(q), args...).Scan(&id, &n)
		}
	}
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // which has no slots
		}
		for name, op := range map[string]operation{
			"argument": read("SELECT id, n FROM items WHERE id = ?", 2),
			"literal":  read("SELECT id, n FROM items WHERE id = 2"),
		} {
			b.Run(e.name+"/"+name, func(b *testing.B) {
				_, plain, wrapped := barPair(b, e.dialect, 1)
				ratio(b, plain, wrapped, op, 1)
			})
		}
	}
}

// BenchmarkLastUnits measures how long 64 clients take to race for the last 1,000 units of
// a stock, until each of them has been refused.
func BenchmarkLastUnits(b *testing.B) {
	const racers, units, rounds = 64, 1000, 5
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) {
			p, plain, wrapped := barPair(b, e.dialect, racers)
			if b.N > 1 {
				return
			}
			race := func(s *side, stock *sql.DB) float64 {
				if _, err := stock.ExecContext(b.Context(), "UPDATE items SET n = 1000 WHERE id = 3"); err != nil {
					b.Fatal(err)
				}
				var sold atomic.Int64
				start := time.Now()
				if err := parallel(b.Context(), s, func(ctx context.Context, s *side) error {
					res, err := s.db.ExecContext(ctx, s.q("UPDATE items SET n = n - 1 WHERE id = ? AND n >= 1"), 3)
					if err != nil {
						return err
					}
					n, err := res.RowsAffected()
					if err == nil && n == 0 {
						return errTurnOver
					}
					sold.Add(n)
					return err
				}, racers, 1<<40); err != errTurnOver {
					b.Fatal(err)
				}
				took := time.Since(start)
				if sold.Load() != units {
					b.Errorf("%d of %d units sold", sold.Load(), units)
				}
				return float64(took.Nanoseconds()) / units
			}
			var pl, wr, r []float64
			for range rounds {
				x, y := race(plain, p.Plain), race(wrapped, p.Under)
				pl, wr, r = append(pl, x), append(wr, y), append(r, x/y)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(pl), "plain-ns/op")
			b.ReportMetric(median(wr), "wrapped-ns/op")
			b.ReportMetric(median(r), "speedup")
		})
	}
}

// BenchmarkOwnRows measures one hot row in a transaction with an INSERT, 1 ms of round trip
// away, beside plain transactions of which each has a row of its own: what remains of the
// queue for the row.
func BenchmarkOwnRows(b *testing.B) {
	const clients = 32
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one client writes at a time, whatever the row
		}
		b.Run(e.name, func(b *testing.B) {
			plain, wrapped := benchPair(b, e.dialect, e.id, clients, time.Millisecond)
			free := make(chan int, clients)
			for i := range clients {
				id := 100 + i
				free <- id
				if _, err := plain.db.ExecContext(b.Context(), plain.q("INSERT INTO pages (id, title, views) VALUES (?, 'Own', 0)"), id); err != nil {
					b.Fatal(err)
				}
			}
			ratio(b, plain, wrapped, func(ctx context.Context, s *side) error {
				id := 1
				if !s.wrapped {
					id = <-free
					defer func() { free <- id }()
				}
				return visitBy(ctx, s, func(ctx context.Context, on execer, s *side) error {
					_, err := on.ExecContext(ctx, s.q("UPDATE pages SET views = views + 1 WHERE id = ?"), id)
					return err
				})
			}, clients)
		})
	}
}

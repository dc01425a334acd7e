package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkLastOrders measures how long 64 clients take to sell the last 1,000 units of a stock in
// transactions with an INSERT, a tenth of which roll back, until each client has been
// refused. A transaction that is chosen as deadlock victim runs again.
func BenchmarkLastOrders(b *testing.B) {
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one connection writes at a time
		}
		for _, roundTrip := range []time.Duration{0, time.Millisecond} {
			b.Run(e.name+"/"+roundTrip.String(), func(b *testing.B) {
				const racers, rounds = 64, 5
				if b.N > 1 {
					return
				}
				p := lastUnits(b, e.dialect, e.id)
				if roundTrip > 0 {
					p = overSlowNetwork(b, p, roundTrip)
				}
				plain := &side{db: p.Plain, dialect: e.dialect}
				wrapped := &side{db: p.Wrapped, dialect: e.dialect, wrapped: true}
				for _, s := range []*side{plain, wrapped} {
					s.db.SetMaxOpenConns(racers)
					s.db.SetMaxIdleConns(racers)
					connectAll(b, s.db, racers)
				}
				var pl, wr, r []float64
				var victims [2]int64
				for i := range rounds + 1 {
					x, v := sellOut(b, plain, racers)
					y, w := sellOut(b, wrapped, racers)
					if i > 0 { // in the first one every connection prepares what it needs
						pl, wr, r = append(pl, x), append(wr, y), append(r, x/y)
						victims[0], victims[1] = victims[0]+v, victims[1]+w
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(pl), "plain-ns/op")
				b.ReportMetric(median(wr), "wrapped-ns/op")
				b.ReportMetric(median(r), "speedup")
				b.ReportMetric(float64(victims[0])/(rounds*lastStock), "plain-victims/op")
				b.ReportMetric(float64(victims[1])/(rounds*lastStock), "wrapped-victims/op")
			})
		}
	}
}

const lastStock = 1000

func lastUnits(b *testing.B, dialect, id string) *twin.Pair {
	b.Helper()
	return twin.New(b, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, stock BIGINT NOT NULL)",
			"INSERT INTO items VALUES (1, 0)",
			"CREATE TABLE orders (id " + id + ", item_id INT NOT NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables:\n  items: {counters: {stock: {min: 0}}}\n",
		Params: benchParams(dialect),
	})
}

// sellOut sells a new stock, and returns the nanoseconds for each unit and how many transactions
// were chosen as victims.
func sellOut(b *testing.B, s *side, racers int) (perUnit float64, victims int64) {
	b.Helper()
	if _, err := s.db.ExecContext(b.Context(), "UPDATE items SET stock = 1000 WHERE id = 1"); err != nil {
		b.Fatal(err)
	}
	if _, err := s.db.ExecContext(b.Context(), "DELETE FROM orders"); err != nil {
		b.Fatal(err)
	}
	var begun, sold, again atomic.Int64
	start := time.Now()
	err := parallel(b.Context(), s, func(ctx context.Context, s *side) error {
		err := lastOrder(ctx, s, begun.Add(1)%10 == 0)
		switch {
		case err == nil:
			sold.Add(1)
		case errors.Is(err, errGivenBack):
			return nil
		case twin.Retryable(err):
			again.Add(1)
			return nil
		}
		return err
	}, racers, 1<<40)
	took := time.Since(start)
	if err != errTurnOver {
		b.Fatal(err)
	}
	var orders, left int64
	row := s.db.QueryRowContext(b.Context(), "SELECT stock, (SELECT COUNT(*) FROM orders) FROM items WHERE id = 1")
	if err := row.Scan(&left, &orders); err != nil {
		b.Fatal(err)
	}
	if sold.Load() != lastStock || orders != lastStock || left != 0 {
		b.Errorf("wrapped %v: %d sold and %d orders of %d units, %d are left", s.wrapped, sold.Load(), orders, lastStock, left)
	}
	return float64(took.Nanoseconds()) / lastStock, again.Load()
}

var errGivenBack = errors.New("the order was rolled back")

// lastOrder sells one unit, unless none is left, and gives it back or not.
func lastOrder(ctx context.Context, s *side, back bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(ctx, s.q("UPDATE items SET stock = stock - ? WHERE id = ? AND stock >= ?"), 1, 1, 1)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return errTurnOver
	}
	if _, err := tx.ExecContext(ctx, s.q("INSERT INTO orders (item_id) VALUES (?)"), 1); err != nil {
		return err
	}
	if back {
		return errors.Join(tx.Rollback(), errGivenBack)
	}
	return tx.Commit()
}

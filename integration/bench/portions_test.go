package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// boundedShop is what the benchmarks of portions sell from.
func boundedShop(b *testing.B, dialect, id string) *twin.Pair {
	p := twin.New(b, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, stock BIGINT NOT NULL)",
			fmt.Sprintf("INSERT INTO items VALUES (1, %d)", portionUnits),
			"CREATE TABLE events (id INT PRIMARY KEY, attendees BIGINT NOT NULL, capacity BIGINT NOT NULL)",
			fmt.Sprintf("INSERT INTO events VALUES (1, 0, %d)", portionUnits),
			"CREATE TABLE orders (id " + id + ", item_id INT NOT NULL)",
			"CREATE TABLE budgets (id INT PRIMARY KEY, budget BIGINT NOT NULL)",
			fmt.Sprintf("INSERT INTO budgets VALUES (1, %d)", portionUnits),
			"CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(20) NOT NULL, balance BIGINT NOT NULL)",
			"INSERT INTO accounts VALUES (1, 'shop', 0), (2, 'buyer', 0)",
			"CREATE TABLE entries (id " + id + ", account_id INT NOT NULL, amount BIGINT NOT NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables:\n" +
			"  items: {counters: {stock: {min: 0}}}\n  events: {counters: {attendees: {max: capacity}}}\n" +
			"  budgets: {counters: {budget: {min: 0}}}\n  accounts: {counters: {balance: {}}}\n",
		Params: benchParams(dialect),
	})
	return overSlowNetwork(b, p, time.Millisecond)
}

const portionUnits = 1_000_000_000

// BenchmarkPortions measures guarded statements in transactions with an INSERT, over a
// network of one millisecond's round trip.
func BenchmarkPortions(b *testing.B) {
	cases := []struct {
		name string
		op   operation
		left string // a query for a number that stays
		is   int64
	}{
		{"stock", order, "SELECT stock + (SELECT COUNT(*) FROM orders) FROM items WHERE id = 1", portionUnits},
		{"seats", seat, "SELECT attendees - (SELECT COUNT(*) FROM orders) FROM events WHERE id = 1", 0},
		{"cashback", cashback(false), "SELECT (SELECT budget FROM budgets) + (SELECT SUM(balance) FROM accounts)", portionUnits},
		{"cashback-either-order", cashback(true), "SELECT (SELECT budget FROM budgets) + (SELECT SUM(balance) FROM accounts)", portionUnits},
	}
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one connection writes at a time
		}
		for _, c := range cases {
			b.Run(c.name+"/"+e.name, func(b *testing.B) {
				const clients = 32
				p := boundedShop(b, e.dialect, e.id)
				plain := &side{db: p.Plain, dialect: e.dialect}
				wrapped := &side{db: p.Wrapped, dialect: e.dialect, wrapped: true}
				for _, s := range []*side{plain, wrapped} {
					s.db.SetMaxOpenConns(clients)
					s.db.SetMaxIdleConns(clients)
					connectAll(b, s.db, clients)
				}
				v := victims{op: c.op}
				ratio(b, plain, wrapped, v.run, clients)
				v.report(b)
				for _, s := range []*side{plain, wrapped} {
					var n int64
					if err := s.db.QueryRow(c.left).Scan(&n); err != nil || n != c.is {
						b.Errorf("%s: %d, want %d; %v", c.left, n, c.is, err)
					}
				}
			})
		}
	}
}

// inTransaction runs statements, each of which has to affect one row.
func inTransaction(ctx context.Context, s *side, statements ...boundStatement) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, st := range statements {
		res, err := tx.ExecContext(ctx, s.q(st.sql), st.args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("%s: %d rows affected, %w", st.sql, n, err)
		}
	}
	return tx.Commit()
}

type boundStatement struct {
	sql  string
	args []any
}

// seat takes one seat.
func seat(ctx context.Context, s *side) error {
	return inTransaction(
		ctx, s,
		boundStatement{"UPDATE events SET attendees = attendees + 1 WHERE id = ? AND attendees < capacity", []any{1}},
		boundStatement{"INSERT INTO orders (item_id) VALUES (?)", []any{1}},
	)
}

// cashback pays from a merchant's budget to a shop and to a buyer. In either order it may pay the
// buyer first, and the merchant last.
func cashback(eitherOrder bool) operation {
	pay := []boundStatement{
		{"UPDATE budgets SET budget = budget - ? WHERE id = ? AND budget >= ?", []any{3, 1, 3}},
		{"UPDATE accounts SET balance = balance + ? WHERE id = ?", []any{1, 1}},
		{"UPDATE accounts SET balance = balance + ? WHERE id = ?", []any{2, 2}},
	}
	entry := boundStatement{"INSERT INTO entries (account_id, amount) VALUES (?, ?)", []any{2, 2}}
	return func(ctx context.Context, s *side) error {
		list := slices.Clone(pay)
		if eitherOrder && rand.IntN(2) == 0 {
			slices.Reverse(list)
		}
		return inTransaction(ctx, s, append(list, entry)...)
	}
}

// victims runs an operation until it is not chosen as deadlock victim, and counts how often
// it was.
type victims struct {
	op operation
	of [2]struct{ deadlocks, done atomic.Int64 } // plain and wrapped
}

func (v *victims) run(ctx context.Context, s *side) error {
	of := &v.of[0]
	if s.wrapped {
		of = &v.of[1]
	}
	of.done.Add(1)
	for {
		err := v.op(ctx, s)
		if err == nil || !twin.Retryable(err) {
			return err
		}
		of.deadlocks.Add(1)
	}
}

func (v *victims) report(b *testing.B) {
	b.Helper()
	for i, name := range []string{"plain", "wrapped"} {
		b.ReportMetric(float64(v.of[i].deadlocks.Load())/float64(v.of[i].done.Load()), name+"-deadlocks/op")
	}
}

// order takes one unit and writes it down.
func order(ctx context.Context, s *side) error {
	return inTransaction(
		ctx, s,
		boundStatement{"UPDATE items SET stock = stock - ? WHERE id = ? AND stock >= ?", []any{1, 1, 1}},
		boundStatement{"INSERT INTO orders (item_id) VALUES (?)", []any{1}},
	)
}

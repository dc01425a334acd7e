package integration

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkPortions measures a guarded decrement in a transaction with an INSERT, over a
// network of one millisecond's round trip.
func BenchmarkPortions(b *testing.B) {
	const clients, stock = 32, 1_000_000_000
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one connection writes at a time
		}
		b.Run(e.name, func(b *testing.B) {
			p := twin.New(b, twin.Options{
				Dialect: e.dialect,
				Schema: []string{
					"CREATE TABLE items (id INT PRIMARY KEY, stock BIGINT NOT NULL)",
					fmt.Sprintf("INSERT INTO items VALUES (1, %d)", stock),
					"CREATE TABLE orders (id " + e.id + ", item_id INT NOT NULL)",
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables: {items: {counters: {stock: {min: 0}}}}\n",
				Params: benchParams(e.dialect),
			})
			p = overSlowNetwork(b, p, time.Millisecond)
			plain := &side{db: p.Plain, numbered: e.dialect == "postgres"}
			wrapped := &side{db: p.Wrapped, numbered: e.dialect == "postgres", wrapped: true}
			for _, s := range []*side{plain, wrapped} {
				s.db.SetMaxOpenConns(clients)
				s.db.SetMaxIdleConns(clients)
				connectAll(b, s.db, clients)
			}
			ratio(b, plain, wrapped, order, clients)
			for _, s := range []*side{plain, wrapped} {
				var left, orders int64
				if err := s.db.QueryRow("SELECT stock FROM items WHERE id = 1").Scan(&left); err != nil {
					b.Fatal(err)
				}
				if err := s.db.QueryRow("SELECT COUNT(*) FROM orders").Scan(&orders); err != nil {
					b.Fatal(err)
				}
				if left+orders != stock {
					b.Errorf("%d are left after %d orders", left, orders)
				}
			}
		})
	}
}

// order takes one unit and writes it down.
func order(ctx context.Context, s *side) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := takeUnit(ctx, s, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.q("INSERT INTO orders (item_id) VALUES (?)"), 1); err != nil {
		return err
	}
	return tx.Commit()
}

func takeUnit(ctx context.Context, s *side, tx *sql.Tx) error {
	res, err := tx.ExecContext(ctx, s.q("UPDATE items SET stock = stock - ? WHERE id = ? AND stock >= ?"), 1, 1, 1)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); n != 1 || err != nil {
		return fmt.Errorf("%d rows affected, %w", n, err)
	}
	return nil
}

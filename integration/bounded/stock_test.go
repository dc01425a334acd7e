// Package bounded holds guarded statements on counters with min and max against the only
// rule that they have: none is oversold, and none is refused while there is some.
package bounded

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// shop is a table of a stock and of seats, and one of orders. The first units of each are
// in slots: increments of a row are placed there whatever waits for it.
func shop(t *testing.T, dialect, placement string, units int) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, stock INT NOT NULL, attendees INT NOT NULL, capacity INT NOT NULL, note INT)",
			fmt.Sprintf("INSERT INTO items VALUES (1, %d, %d, %d, 0), (2, 5, 0, 5, 0)", units/2, units-units/2, units),
			"CREATE TABLE orders (id INT NOT NULL, client INT NOT NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: " + placement + "}\n" +
			"tables: {items: {counters: {stock: {min: 0}, attendees: {min: 0, max: capacity}}}}\n",
	})
	ctx := t.Context()
	for range units - units/2 {
		mustExec(t, p.Wrapped, ctx, "UPDATE items SET stock = stock + 1 WHERE id = 1")
		mustExec(t, p.Wrapped, ctx, "UPDATE items SET attendees = attendees - 1 WHERE id = 1")
	}
	return p
}

func mustExec(t *testing.T, db *sql.DB, ctx context.Context, query string) {
	t.Helper()
	if _, err := db.ExecContext(ctx, query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// order takes one unit and writes it down, in a transaction that may be rolled back in
// whole or to a savepoint. It reports whether there was one, and whether it is taken.
func order(ctx context.Context, db *sql.DB, take string, client int, how uint) (there, taken bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, false, err
	}
	defer func() { _ = tx.Rollback() }()
	if how == 1 { // taken, given back by a savepoint, and taken again
		if _, err := tx.ExecContext(ctx, "SAVEPOINT one"); err != nil {
			return false, false, err
		}
		res, err := tx.ExecContext(ctx, take)
		if err != nil {
			return false, false, err
		}
		if n, _ := res.RowsAffected(); n == 0 {
			return false, false, nil
		}
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT one"); err != nil {
			return false, false, err
		}
	}
	res, err := tx.ExecContext(ctx, take)
	if err != nil {
		return false, false, err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return false, false, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders VALUES (1, %d)", client)); err != nil {
		return true, false, err
	}
	if how == 2 {
		return true, false, tx.Rollback()
	}
	return true, true, tx.Commit()
}

// conflict reports whether an error asks for the transaction to be run again.
func conflict(err error) bool {
	switch c := twin.Class(err); c {
	case "MySQL 1213 (40001)", "MySQL 1205 (HY000)", "MySQL 1020 (HY000)", "PostgreSQL 40P01", "PostgreSQL 40001":
		return true
	default:
		return twin.Crossed(err) ||
			strings.HasPrefix(c, "SQLite ") && (strings.HasSuffix(c, " 5") || strings.HasSuffix(c, " 517") || strings.HasSuffix(c, " 6") || strings.HasSuffix(c, " 262"))
	}
}

// race has clients order until they are refused, and returns how many units they have got.
func race(t *testing.T, p *twin.Pair, take string, clients int) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var sold, conflicts atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(client), 7))
			for {
				how := uint(random.IntN(10))
				there, taken, err := order(ctx, p.Wrapped, take, client, how)
				switch {
				case err != nil && !conflict(err):
					t.Errorf("client %d: %v", client, err)
					return
				case err != nil:
					conflicts.Add(1)
				case !there:
					return
				case taken:
					sold.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d sold, %d conflicts", sold.Load(), conflicts.Load())
	return int(sold.Load())
}

// 128 clients race for the last 1,000 units in transactions with an INSERT, of which a tenth roll
// back, and each unit is sold once. Each client goes on until it is refused, so that one that has
// given a unit back sells it again unless another one does.
func TestLastThousand(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const units = 1000
		p := store(t, dialect, "adaptive", units)
		sold := race(t, p, sellOne, 128)
		orders, left := number(t, p.Wrapped, "SELECT COUNT(*) FROM orders"), number(t, p.Wrapped, baseStock)
		if sold != units || orders != units || left != 0 {
			t.Errorf("%d sold and %d orders of %d units, %d are left", sold, orders, units, left)
		}
	})
}

// Each of the last units is sold once, however many clients race for them, and however
// many of those roll back.
func TestLastUnits(t *testing.T) {
	takes := map[string]string{
		"stock": "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0",
		"seats": "UPDATE items SET attendees = attendees + 1 WHERE id = 1 AND attendees < capacity",
	}
	left := map[string]string{"stock": "SELECT stock FROM items WHERE id = 1", "seats": "SELECT capacity - attendees FROM items WHERE id = 1"}
	for _, placement := range []string{"adaptive", "connection"} {
		for what, take := range takes {
			t.Run(placement+"/"+what, func(t *testing.T) {
				twin.Each(t, func(t *testing.T, dialect string) {
					units, clients := 120, 48
					if dialect == "sqlite" {
						units, clients = 30, 4
					}
					p := shop(t, dialect, placement, units)
					sold := race(t, p, take, clients)
					var orders, rest int
					if err := p.Wrapped.QueryRow("SELECT COUNT(*) FROM orders").Scan(&orders); err != nil {
						t.Fatal(err)
					}
					if err := p.Wrapped.QueryRow(left[what]).Scan(&rest); err != nil {
						t.Fatal(err)
					}
					if sold != units || orders != units || rest != 0 {
						t.Errorf("%d sold and %d orders of %d units, %d are left", sold, orders, units, rest)
					}
				})
			})
		}
	}
}

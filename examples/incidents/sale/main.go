// Command sale replays the sale of 1,000 units of one product: checkouts that take a unit, and hold its row until the payment
// has been answered.
package main

import (
	"context"
	"embed"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

const units = 1000

var incident = replay.Incident{
	Name: "sale", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	Do: checkout, Totals: totals,
}

func main() { replay.Main(incident) }

func checkout(ctx context.Context, c *replay.Client) error {
	err := c.Tx(ctx, func(tx replay.Session) error {
		taken, err := tx.Exec(ctx, "UPDATE stocks SET quantity = quantity - ? WHERE id = ? AND quantity >= ?", 1, 1, 1)
		if err != nil {
			return err
		}
		if n, err := taken.RowsAffected(); n == 0 || err != nil {
			return replay.ErrOver
		}
		_, err = tx.Exec(ctx, "INSERT INTO orders (customer, number) VALUES (?, ?)", c.ID, c.Counts["orders"])
		time.Sleep(5 * time.Millisecond) // the payment
		return err
	})
	if err == nil {
		c.Counts["orders"]++
	}
	return err
}

// totals: no unit is sold twice, and nobody is refused while there is one.
func totals(s *replay.Side) []replay.Total {
	left := units - s.Done()
	if s.Over() {
		left = 0
	}
	return []replay.Total{
		{Name: "orders", Query: "SELECT COUNT(*) FROM orders", Want: []int64{s.Done()}},
		{Name: "units left", Query: "SELECT quantity FROM stocks", Want: []int64{left}},
		{Name: "units sold and left", Query: "SELECT quantity + (SELECT COUNT(*) FROM orders) FROM stocks", Want: []int64{units}},
	}
}

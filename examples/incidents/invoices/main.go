// Command invoices replays a billing day: invoices that each need the next number of their organization, without gaps.
package main

import (
	"context"
	"embed"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

var incident = replay.Incident{
	Name: "invoices", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	Do: bill, Totals: totals,
}

func main() { replay.Main(incident) }

// bill reserves the invoice's number first, and computes the invoice afterwards.
func bill(ctx context.Context, c *replay.Client) error {
	number, err := next(ctx, c)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "INSERT INTO invoices (organization_id, sequential_id, status) VALUES (?, ?, ?)", 1, number, "generating")
	return err
}

// next draws the organization's next number.
func next(ctx context.Context, c *replay.Client) (number int64, err error) {
	if c.Engine == "postgres" {
		draw := "UPDATE organizations SET sequential_id = sequential_id + 1 WHERE id = ? RETURNING sequential_id"
		err = c.QueryRow(ctx, draw, 1).Scan(&number)
		return number, err
	}
	drawn, err := c.Exec(ctx, "UPDATE organizations SET sequential_id = LAST_INSERT_ID(sequential_id + 1) WHERE id = ?", 1)
	if err != nil {
		return 0, err
	}
	return drawn.LastInsertId()
}

// totals: as many numbers as invoices, the last as high, and none twice, which is the primary key.
func totals(s *replay.Side) []replay.Total {
	invoices := []int64{s.Done()}
	return []replay.Total{
		{Name: "invoices", Query: "SELECT COUNT(*) FROM invoices", Want: invoices},
		{Name: "last invoice's number", Query: "SELECT MAX(sequential_id) FROM invoices", Want: invoices},
		{Name: "last number drawn", Query: "SELECT sequential_id FROM organizations", Want: invoices},
	}
}

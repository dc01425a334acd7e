// Command spend replays the pods of a model gateway that write what teams have spent of their budgets: each flushes what it has
// collected, in a transaction that adds to the rows in any order.
package main

import (
	"context"
	"embed"
	"math/rand/v2"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

const (
	keys, flushed = 50, 4
	cost          = 250_000 // millionths of a dollar
)

var incident = replay.Incident{
	Name: "spend", Files: files,
	Processes: 16, Clients: 1, RoundTrip: time.Millisecond,
	Do: flush, Totals: totals,
}

func main() { replay.Main(incident) }

// flush adds to some keys, in the order of a map, and then to the team to which all of them belong.
func flush(ctx context.Context, c *replay.Client) error {
	err := c.Tx(ctx, func(tx replay.Session) error {
		for _, key := range rand.Perm(keys)[:flushed] {
			if _, err := tx.Exec(ctx, "UPDATE virtual_keys SET spend = spend + ? WHERE id = ?", cost, key+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Counts["keys"] += cost * flushed
	return c.Tx(ctx, func(tx replay.Session) error {
		_, err := tx.Exec(ctx, "UPDATE teams SET spend = spend + ? WHERE id = ?", cost*flushed, 1)
		return err
	})
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{
		{Name: "spent by keys", Query: "SELECT CAST(SUM(spend) AS DECIMAL(20, 0)) FROM virtual_keys", Want: []int64{s.Sum("keys")}},
		{Name: "spent by the team", Query: "SELECT spend FROM teams", Want: []int64{cost * flushed * s.Done()}},
	}
}

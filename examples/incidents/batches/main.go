// Command batches replays the workers of a batch system: each ends jobs of one large batch and counts their states in the batch's
// row. Now and then one cancels a group of jobs, in a transaction that holds the row much longer.
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

const group = 50

var incident = replay.Incident{
	Name: "batches", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	Do: work, Totals: totals,
}

func main() { replay.Main(incident) }

func work(ctx context.Context, c *replay.Client) error {
	jobs, state := 1, "succeeded"
	if rand.IntN(100) == 0 {
		jobs, state = group, "cancelled"
	}
	err := c.Tx(ctx, func(tx replay.Session) error {
		for i := range jobs {
			if err := end(ctx, tx, c.ID, c.Counts["ended"]+int64(i), state); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		c.Counts["ended"] += int64(jobs)
		c.Counts[state] += int64(jobs)
	}
	return err
}

// end writes down that a job has ended, and counts it.
func end(ctx context.Context, tx replay.Session, worker int, job int64, state string) error {
	if _, err := tx.Exec(ctx, "INSERT INTO attempts (worker, job, state) VALUES (?, ?, ?)", worker, job, state); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE batches SET n_completed = n_completed + 1, n_"+state+" = n_"+state+" + 1 WHERE id = ?", 1)
	return err
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{
		{Name: "jobs completed", Query: "SELECT n_completed FROM batches", Want: []int64{s.Sum("ended")}},
		{Name: "jobs succeeded", Query: "SELECT n_succeeded FROM batches", Want: []int64{s.Sum("succeeded")}},
		{Name: "jobs cancelled", Query: "SELECT n_cancelled FROM batches", Want: []int64{s.Sum("cancelled")}},
		{Name: "attempts", Query: "SELECT COUNT(*) FROM attempts", Want: []int64{s.Sum("ended")}},
	}
}

// Command workflows replays executions of one workflow: each counts itself in the workflow's statistics by an upsert.
package main

import (
	"context"
	"embed"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed mysql.sql postgres.sql slotsql.yaml
var files embed.FS

var incident = replay.Incident{
	Name: "workflows", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	Do: complete, Totals: totals,
}

func main() { replay.Main(incident) }

// complete counts an execution, and reports the workflow's first one.
func complete(ctx context.Context, c *replay.Client) error {
	first, err := upsert(ctx, c)
	if err == nil && first {
		c.Counts["first"]++
	}
	return err
}

func upsert(ctx context.Context, c *replay.Client) (first bool, err error) {
	insert := "INSERT INTO workflow_statistics (count, root_count, name, workflow_id, latest_event) VALUES (1, ?, ?, ?, CURRENT_TIMESTAMP) "
	if c.Engine == "postgres" {
		var id, name string
		var count, roots int64
		var latest time.Time
		insert += "ON CONFLICT (workflow_id, name) DO UPDATE SET count = workflow_statistics.count + 1, " +
			"root_count = workflow_statistics.root_count + ?, latest_event = CURRENT_TIMESTAMP RETURNING *"
		err = c.QueryRow(ctx, insert, 1, "production_success", "w1", 1).Scan(&id, &name, &count, &roots, &latest)
		return count == 1, err
	}
	insert += "ON DUPLICATE KEY UPDATE count = count + 1, root_count = root_count + ?, latest_event = CURRENT_TIMESTAMP"
	counted, err := c.Exec(ctx, insert, 1, "production_success", "w1", 1)
	if err != nil {
		return false, err
	}
	n, err := counted.RowsAffected() // 2 for a row that was there
	return n == 1, err
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{
		{Name: "executions", Query: "SELECT count FROM workflow_statistics", Want: []int64{s.Done()}},
		{Name: "root executions", Query: "SELECT root_count FROM workflow_statistics", Want: []int64{s.Done()}},
		{Name: "first ones reported", Query: "SELECT COUNT(*) FROM workflow_statistics", Want: []int64{s.Sum("first")}},
	}
}

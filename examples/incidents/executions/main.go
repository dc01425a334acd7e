// Command executions replays the tasks of one execution that end all at once. Each refreshes the execution's status, with
// optimistic locking by its revision.
package main

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

const tries = 5

var incident = replay.Incident{
	Name: "executions", Files: files,
	Processes: 1, Clients: 64, RoundTrip: time.Millisecond,
	Do: refresh, Totals: totals,
}

func main() { replay.Main(incident) }

var errConflict = errors.New("given up after 5 conflicts")

// refresh writes the status of the execution, if nobody else has written it since it was read; otherwise it tries again.
func refresh(ctx context.Context, c *replay.Client) error {
	for range tries {
		var status string
		var revision int64
		err := c.QueryRow(ctx, "SELECT status, revision FROM execution WHERE id = ?", 1).Scan(&status, &revision)
		if err != nil {
			return err
		}
		save := "UPDATE execution SET status = ?, revision = revision + 1, update_time = ? WHERE id = ? AND revision = ?"
		saved, err := c.Exec(ctx, save, "Running", time.Now().UnixMicro(), 1, revision)
		if err != nil {
			return err
		}
		if n, err := saved.RowsAffected(); n == 1 || err != nil {
			return err
		}
	}
	return errConflict
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{{Name: "revisions", Query: "SELECT revision FROM execution", Want: []int64{s.Done()}}}
}

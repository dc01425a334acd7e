// Command likes replays likes of one post, which a trigger counts, in transactions that go on to note what other servers have
// to be told.
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
	Name: "likes", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	InDatabase: true,
	Do:         like, Totals: totals,
}

func main() { replay.Main(incident) }

// like inserts a like of post 1 by a person who has not liked it yet.
func like(ctx context.Context, c *replay.Client) error {
	c.Counts["people"]++
	person := int64(c.ID)*1_000_000 + c.Counts["people"]
	return c.Tx(ctx, func(tx replay.Session) error {
		_, err := tx.Exec(ctx, "INSERT INTO post_like (post_id, person_id, score) VALUES (?, ?, ?)", 1, person, 1)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO sent_activity (person_id, kind) VALUES (?, ?)", person, "Like")
		return err
	})
}

func totals(s *replay.Side) []replay.Total {
	likes := []int64{s.Done()}
	return []replay.Total{
		{Name: "likes", Query: "SELECT COUNT(*) FROM post_like", Want: likes},
		{Name: "upvotes", Query: "SELECT upvotes FROM post_aggregates", Want: likes},
		{Name: "score", Query: "SELECT score FROM post_aggregates", Want: likes},
	}
}

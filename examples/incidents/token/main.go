// Command token replays requests to an API that all present one access token, which remembers when it was last used.
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
	Name: "token", Files: files,
	Processes: 1, Clients: 64, RoundTrip: time.Millisecond,
	Do: authenticate, Totals: totals,
}

func main() { replay.Main(incident) }

type accessToken struct {
	id, uid, created      int64
	name, hash, salt, key string
}

// authenticate finds the token that a request presents, and writes it back with the time of its use, all columns of it.
func authenticate(ctx context.Context, c *replay.Client) error {
	var t accessToken
	find := "SELECT id, uid, name, token_hash, token_salt, token_last_eight, created_unix FROM access_token WHERE token_last_eight = ?"
	err := c.QueryRow(ctx, find, "53e1a0f7").Scan(&t.id, &t.uid, &t.name, &t.hash, &t.salt, &t.key, &t.created)
	if err != nil {
		return err
	}
	now := time.Now().Unix()
	save := "UPDATE access_token SET uid = ?, name = ?, token_hash = ?, token_salt = ?, token_last_eight = ?, created_unix = ?, " +
		"updated_unix = ? WHERE id = ?"
	if _, err := c.Exec(ctx, save, t.uid, t.name, t.hash, t.salt, t.key, t.created, now, t.id); err != nil {
		return err
	}
	c.Counts["last use"] = now
	return nil
}

// totals: the time that the token holds is that of some client's last request.
func totals(s *replay.Side) []replay.Total {
	var last []int64
	for _, c := range s.Clients {
		last = append(last, c.Counts["last use"])
	}
	return []replay.Total{
		{Name: "last use, one of those written", Query: "SELECT updated_unix FROM access_token WHERE uid = 2 AND name = 'ci'", Want: last},
	}
}

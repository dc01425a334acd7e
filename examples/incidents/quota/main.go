// Command quota replays requests to a model gateway that deduct their cost from one user, one token and one channel.
package main

import (
	"context"
	"embed"
	"time"

	"github.com/slotsql/slotsql/examples/incidents/internal/replay"
)

//go:embed schema.sql slotsql.yaml
var files embed.FS

const cost = 7

var incident = replay.Incident{
	Name: "quota", Files: files,
	Processes: 4, Clients: 16, RoundTrip: time.Millisecond,
	Do: request, Totals: totals,
}

func main() { replay.Main(incident) }

// request deducts the cost before the request is relayed, and counts it afterwards.
func request(ctx context.Context, c *replay.Client) error {
	if err := update(ctx, c, "user", "UPDATE users SET quota = quota - ? WHERE id = ?", cost, 1); err != nil {
		return err
	}
	consume := "UPDATE tokens SET remain_quota = remain_quota - ?, used_quota = used_quota + ?, accessed_time = ? WHERE id = ?"
	if err := update(ctx, c, "token", consume, cost, cost, time.Now().Unix(), 1); err != nil {
		return err
	}
	count := "UPDATE users SET used_quota = used_quota + ?, request_count = request_count + ? WHERE id = ?"
	if err := update(ctx, c, "used", count, cost, 1, 1); err != nil {
		return err
	}
	return update(ctx, c, "channel", "UPDATE channels SET used_quota = used_quota + ? WHERE id = ?", cost, 1)
}

// update runs a statement in a transaction of its own, as GORM does by default.
func update(ctx context.Context, c *replay.Client, what, query string, args ...any) error {
	err := c.Tx(ctx, func(tx replay.Session) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err == nil {
		c.Counts[what]++
	}
	return err
}

func totals(s *replay.Side) []replay.Total {
	return []replay.Total{
		{Name: "deducted from the user", Query: "SELECT 1000000000 - quota FROM users", Want: []int64{cost * s.Sum("user")}},
		{Name: "deducted from the token", Query: "SELECT 1000000000 - remain_quota FROM tokens", Want: []int64{cost * s.Sum("token")}},
		{Name: "used by the user", Query: "SELECT used_quota FROM users", Want: []int64{cost * s.Sum("used")}},
		{Name: "used of the channel", Query: "SELECT used_quota FROM channels", Want: []int64{cost * s.Sum("channel")}},
		{Name: "requests", Query: "SELECT request_count FROM users", Want: []int64{s.Sum("used")}},
	}
}

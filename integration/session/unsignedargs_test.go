package session

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// go-sql-driver/mysql sends a uint64 as an unsigned number, with which the server computes an unsigned sum: one below
// zero is refused (1690), though the column is signed.
func TestUnsignedArguments(t *testing.T) {
	for _, table := range []string{"slots: 8", "slots: 8, placement: connection", "slots: 0"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"),
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, " + table + "}}\n"})
			both := both{p.Plain, p.Wrapped}
			for _, q := range []string{
				"UPDATE posts SET views = views - ? WHERE id = 1",
				"UPDATE posts SET views = views + ? WHERE id = 1",
				"UPDATE posts SET likes = COALESCE(likes, 0) - ? WHERE id = 2",
				"UPDATE posts SET views = views - ? WHERE id IN (1, 2)",
				"INSERT INTO posts (id, views) VALUES (1, 0) ON DUPLICATE KEY UPDATE views = views - ?",
			} {
				for _, n := range []any{uint64(3), uint(30), int64(-4), int64(9), uint8(2)} {
					for _, prepared := range []bool{false, true} {
						both.same(t, twin.Statement{SQL: q, Args: []any{n}, Prepared: prepared})
						both.same(t, twin.Statement{SQL: totals})
					}
				}
			}
		})
	}
}

// So it is in a group: of overlapping statements those are counted that leave no less than zero.
func TestUnsignedArgumentsGrouped(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"),
		Config: "version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n"})
	p.Wrapped.SetMaxOpenConns(clients)
	p.Wrapped.SetMaxIdleConns(clients)
	var counted atomic.Int64
	crowd(t, 8, func(ctx context.Context, _, _ int) error {
		if _, err := p.Wrapped.ExecContext(ctx, "UPDATE posts SET views = views - ? WHERE id = 3", uint(1)); err == nil {
			counted.Add(1)
		}
		return nil
	})
	if got := value(t, p.Under, "SELECT views FROM posts WHERE id = 3"); counted.Load() != 30 || got != "0" {
		t.Errorf("the row has %s views, and %d were taken, want 30", got, counted.Load())
	}
}

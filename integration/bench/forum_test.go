package bench

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/examples/forum/forum"
	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkForum measures a whole application, plain and wrapped by turns: 32 visitors of the forum of examples/forum,
// with no hot topic, with ten that take nine of ten visits, and with one.
func BenchmarkForum(b *testing.B) {
	for _, e := range benchEngines {
		for _, away := range []time.Duration{0, time.Millisecond} {
			if e.dialect == "sqlite" && away > 0 {
				continue
			}
			for _, companions := range []bool{false, true} {
				for _, hot := range []int{0, 10, 1} {
					b.Run(fmt.Sprintf("%s/away=%s/companions=%t/hot=%d", e.name, away, companions, hot), func(b *testing.B) {
						benchForum(b, e.dialect, away, companions, hot)
					})
				}
			}
		}
	}
}

func benchForum(b *testing.B, dialect string, away time.Duration, companions bool, hot int) {
	const clients = 32
	if b.N > 1 {
		return
	}
	o := twin.Options{Dialect: dialect, Schema: forum.Schema(dialect), Config: forum.Config("defaults: {slots: 64, placement: adaptive}\n", companions)}
	if dialect == "sqlite" {
		o.Params = "_pragma=synchronous(NORMAL)&_txlock=immediate"
	}
	p := twin.New(b, o)
	if away > 0 {
		p = overSlowNetwork(b, p, away)
	}
	forums := map[*side]*forum.Forum{}
	sides := [2]*side{}
	for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
		db.SetMaxOpenConns(clients)
		db.SetMaxIdleConns(clients)
		connectAll(b, db, clients)
		sides[i] = &side{db: db, wrapped: i == 1}
		forums[sides[i]] = forum.New(db, dialect)
	}
	visit := func(ctx context.Context, s *side) error { return forums[s].Visit(ctx, forum.Crowd{Hot: hot}) }
	ratio(b, sides[0], sides[1], visit, clients)
	for _, f := range forums {
		if err := f.Check(b.Context()); err != nil {
			b.Error(err)
		}
	}
}

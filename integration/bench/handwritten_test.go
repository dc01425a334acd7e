package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkHandWritten counts with slots: written by hand on the plain driver,
// and by slotsql from the plain UPDATE. With one client its speedup is what
// slotsql's own work leaves: 1 would be for nothing. In transactions of 32
// clients it says how much of what slots can do on this machine slotsql does.
func BenchmarkHandWritten(b *testing.B) {
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) { handWritten(b, e.dialect, e.id, 1, 0) })
		if e.dialect != "sqlite" {
			b.Run(e.name+"/transaction-1ms/clients=32", func(b *testing.B) { handWritten(b, e.dialect, e.id, 32, time.Millisecond) })
		}
	}
}

func handWritten(b *testing.B, dialect, id string, clients int, roundTrip time.Duration) {
	const slots = 64
	plain, wrapped := benchPair(b, dialect, id, clients, roundTrip)
	upsert := "INSERT INTO hand (id, slot, views) VALUES (?, ?, 1) ON CONFLICT (id, slot) DO UPDATE SET views = hand.views + 1"
	if dialect == "mysql" {
		upsert = "INSERT INTO hand (id, slot, views) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE views = views + 1"
	}
	if _, err := plain.db.ExecContext(
		b.Context(),
		"CREATE TABLE hand (id BIGINT NOT NULL REFERENCES pages (id) ON DELETE CASCADE, slot SMALLINT NOT NULL, views BIGINT NOT NULL, PRIMARY KEY (id, slot))",
	); err != nil {
		b.Fatal(err)
	}
	for slot := range slots { // as slotsql's are there after a while
		if _, err := plain.db.ExecContext(b.Context(), fmt.Sprintf("INSERT INTO hand VALUES (1, %d, 0)", slot)); err != nil {
			b.Fatal(err)
		}
	}
	byHand := func(ctx context.Context, on execer, s *side) error {
		_, err := on.ExecContext(ctx, s.q(upsert), 1, rand.IntN(slots))
		return err
	}
	op := func(ctx context.Context, s *side) error {
		switch {
		case roundTrip > 0 && s.wrapped:
			return visitTx(ctx, s)
		case roundTrip > 0:
			return visitBy(ctx, s, byHand)
		case s.wrapped:
			return increment(ctx, s)
		}
		if err := byHand(ctx, s.db, s); err != nil {
			return err
		}
		s.counted.Add(1)
		return nil
	}
	b.Run("ratio", func(b *testing.B) { ratio(b, plain, wrapped, op, clients) })
	exact(b, wrapped)
	var total int64
	if err := plain.db.QueryRowContext(b.Context(), "SELECT SUM(views) FROM hand").Scan(&total); err != nil ||
		total != plain.counted.Load() {
		b.Errorf("by hand: %d increments acknowledged, %d counted, %v", plain.counted.Load(), total, err)
	}
}

package integration

import (
	"context"
	"math/rand/v2"
	"testing"
)

// BenchmarkHandWritten is one client that counts with slots: written by hand on
// the plain driver, and by slotsql from the plain UPDATE. Its speedup is what
// slotsql's own work leaves: 1 would be for nothing.
func BenchmarkHandWritten(b *testing.B) {
	const slots = 64
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) {
			plain, wrapped := benchPair(b, e.dialect, e.id, 1, 0)
			upsert := "INSERT INTO hand (id, slot, views) VALUES (?, ?, 1) ON CONFLICT (id, slot) DO UPDATE SET views = hand.views + 1"
			if e.dialect == "mysql" {
				upsert = "INSERT INTO hand (id, slot, views) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE views = views + 1"
			}
			if _, err := plain.db.ExecContext(b.Context(), "CREATE TABLE hand (id BIGINT NOT NULL REFERENCES pages (id) ON DELETE CASCADE, slot SMALLINT NOT NULL, views BIGINT NOT NULL, PRIMARY KEY (id, slot))"); err != nil {
				b.Fatal(err)
			}
			op := func(ctx context.Context, s *side) error {
				if s.wrapped {
					return increment(ctx, s)
				}
				if _, err := s.db.ExecContext(ctx, s.q(upsert), 1, rand.IntN(slots)); err != nil {
					return err
				}
				s.counted.Add(1)
				return nil
			}
			b.Run("ratio", func(b *testing.B) { ratio(b, plain, wrapped, op, 1) })
			exact(b, wrapped)
			var total int64
			if err := plain.db.QueryRowContext(b.Context(), "SELECT SUM(views) FROM hand").Scan(&total); err != nil || total != plain.counted.Load() {
				b.Errorf("by hand: %d increments acknowledged, %d counted, %v", plain.counted.Load(), total, err)
			}
		})
	}
}

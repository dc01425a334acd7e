package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// The scenarios with slots that the application handles itself.

// handSlots upserts a random slot.
type handSlots struct {
	*tables
	table string // of slots
	add   string // a statement that adds to a slot: key, slot
}

func newSlots(w *workload) Scenario { return handWritten(w) }

func handWritten(w *workload) *handSlots {
	s := &handSlots{tables: newTables(w), table: w.name + "_slots"}
	s.add = "INSERT INTO " + s.table + " (id, slot, views) VALUES (?, ?, 1) " + strings.ReplaceAll(w.Engine.addToSlot, "%s", s.table)
	return s
}

// Setup implements Strategy.
func (s *handSlots) Setup(ctx context.Context) error {
	if err := s.create(ctx, s.table, "id BIGINT NOT NULL, slot INT NOT NULL, views BIGINT NOT NULL, PRIMARY KEY (id, slot)"); err != nil {
		return err
	}
	return s.setup(ctx)
}

// Increment implements Strategy.
func (s *handSlots) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	return s.unit(ctx, false, key, func(q querier) error {
		return s.affects(ctx, q, s.add, key, c.Slot(s.point.Slots))
	})
}

func (s *handSlots) Read(ctx context.Context, c *Client) error {
	var title string
	var views int64
	query := "SELECT p.title, p.views + COALESCE((SELECT SUM(s.views) FROM " + s.table + " s WHERE s.id = p.id), 0) FROM " + s.pages + " p WHERE p.id = ?"
	return s.db.QueryRowContext(ctx, s.Engine.q(query), c.Key()).Scan(&title, &views)
}

// Total implements Strategy.
func (s *handSlots) Total(ctx context.Context) (int64, error) { return s.baseAndSlots(ctx, s.table) }

// baseAndSlots adds up what the tables hold.
func (t *tables) baseAndSlots(ctx context.Context, slots string) (int64, error) {
	base, err := t.sum(ctx, t.admin, t.pages)
	if err != nil {
		return 0, err
	}
	rest, err := t.sum(ctx, t.admin, slots)
	return base + rest, err
}

// skipLocked looks for a slot that no transaction has locked, and takes a random one
// when there is none. All slot rows are there from the beginning: looking for
// a row that is not there would lock the gap on InnoDB.
type skipLocked struct{ *handSlots }

func newSkipLocked(w *workload) Scenario { return skipLocked{handWritten(w)} }

// Setup implements Strategy.
func (s skipLocked) Setup(ctx context.Context) error {
	if err := s.handSlots.Setup(ctx); err != nil {
		return err
	}
	n := s.point.Slots
	return s.fill(ctx, s.table+" (id, slot, views)", s.Plan.Keys*n, func(i int) string {
		return fmt.Sprintf("(%d, %d, 0)", i/n+1, i%n)
	})
}

// Increment implements Strategy.
func (s skipLocked) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	statements := s.Engine.skipLocked
	add := fmt.Sprintf(statements.add, s.table)
	random := func(q querier) error { return s.affects(ctx, q, s.add, key, c.Slot(s.point.Slots)) }
	if statements.choose == "" {
		return s.unit(ctx, false, key, func(q querier) error {
			if err := s.affects(ctx, q, add, key, key); !errors.Is(err, errNoRow) {
				return err
			}
			return random(q)
		})
	}
	choose := s.Engine.q(fmt.Sprintf(statements.choose, s.table))
	return s.unit(ctx, true, key, func(q querier) error {
		var slot int64
		switch err := q.QueryRowContext(ctx, choose, key).Scan(&slot); {
		case errors.Is(err, sql.ErrNoRows):
			return random(q)
		case err != nil:
			return err
		}
		return s.affects(ctx, q, add, key, slot)
	})
}

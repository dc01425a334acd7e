package session

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// Placement adaptive: an increment of a cold row is the application's own statement on
// the base row, alone or in a group, and one of a hot row goes to a slot. See slots.Heat
// for which is which. Either is exact at every moment, whatever the other is doing.

// onColdRow reports whether an increment is to run on its base row, because its row is
// cold. In a transaction the row is then held until that ends.
func (r *Run) onColdRow() bool {
	c := r.conn
	counter := r.Plan.Increment.Table.Counter
	if counter.Placement != rewrite.PlacementAdaptive || counter.Layout == rewrite.LayoutJournal || !r.incrementFitsBase() {
		return false
	}
	row, keyed := r.rowKey()
	if !keyed {
		return false
	}
	row.Node = 0 // nodes of a cluster have the row in common
	if !c.Tx.KeepsLocks() {
		heatOf := c.Shared.heat.Hot
		if g := r.Plan.Group; g != nil && g.Many != nil {
			heatOf = c.Shared.heat.HotRow // a crowd shares statements on base rows
		}
		hot, became := heatOf(row)
		if r.Plan.tally.heatedRow(became); !hot {
			r.row = row
		}
		return !hot
	}
	hot, counted := c.counting[row]
	if !counted {
		var became bool
		hot, became = c.Shared.heat.Hold(row)
		r.Plan.tally.heatedRow(became)
		if c.counting == nil {
			c.counting = map[slots.RowKey]bool{}
		}
		c.counting[row] = hot
	}
	if !hot {
		r.row = row
	}
	return !hot
}

// execColdRow runs an increment of a cold row, together with others that overlap with it.
func (r *Run) execColdRow(ctx context.Context) (driver.Result, error) {
	if !r.conn.Tx.KeepsLocks() {
		return r.execGrouped(ctx, r.execCold)
	}
	if first, err := r.locksFirst(ctx, &r.Plan.Increment.Row); err != nil {
		return nil, err
	} else if first && r.cause == heldToSnapshot {
		return r.lockFirst(ctx)
	}
	return r.execCold(ctx)
}

// execCold runs the increment's own text on the base row.
func (r *Run) execCold(ctx context.Context) (driver.Result, error) {
	start := time.Now()
	res, n, err := r.execTouching(ctx)
	r.took(time.Since(start), err)
	switch {
	case err != nil:
		retries := r.row != (slots.RowKey{}) && r.conn.InAutocommit() && ctx.Err() == nil
		if retries && r.conn.Engine.Conflict(err) && r.conn.Engine.NotApplied(err) {
			return r.execIncrement(ctx) // the row is hot now, and others are not in the way in a slot
		}
		if r.conn.InAutocommit() && r.conn.Engine.SlotFull(err) {
			return r.because(outOfRange).fallback(ctx) // the base value has, and the total may not
		}
		return nil, err
	case n == 0:
		return res, nil
	}
	r.Plan.tally.ranCold()
	r.note(r.Plan.Increment.Row, onBase)
	return res, r.holdIncrement(ctx)
}

// took notes how an update of a base row has gone.
func (r *Run) took(d time.Duration, err error) {
	if r.row.Table == "" {
		return
	}
	h, e := r.conn.Shared.heat, &r.conn.Engine
	waited := false
	if err != nil {
		waited = e.Retryable(err) || e.LockTimeout(err) || e.Conflict(err)
	} else {
		waited = h.Took(d)
	}
	if waited {
		r.Plan.tally.heatedRow(h.Waited(r.row))
	}
}

// conflicted notes that the transaction has met a conflict, perhaps one of the rows that
// it has counted: on a cluster of nodes COMMIT says so.
func (c *Conn) conflicted(err error) {
	if len(c.counting) == 0 || err == nil || !c.Engine.Conflict(err) {
		return
	}
	for row, hot := range c.counting {
		if !hot {
			c.Shared.heat.Waited(row)
		}
	}
}

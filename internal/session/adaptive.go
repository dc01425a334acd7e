package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
)

// Placement adaptive: an increment of a cold row is the application's own statement on the base
// row, alone or in a group; one of a hot row goes to a slot. slots.Heat says which rows are hot,
// and onColdRow makes the choice. Both are exact at any time, whatever other increments do.

// execColdRow runs an increment of a cold row, together with others that overlap with it.
func (r *Run) execColdRow(ctx context.Context) (answer, error) {
	if !r.conn.Tx.KeepsLocks() {
		return r.runGrouped(ctx, r.execCold)
	}
	// The next increment of the row goes to a slot, perhaps before this one has the base row.
	if err := r.awaitTrial(ctx, onBase); err != nil {
		return answer{}, err
	}
	if first, err := r.locksFirst(ctx, &r.Plan.Increment.Row); err != nil {
		return answer{}, err
	} else if first && r.cause == heldToSnapshot {
		return r.lockFirst(ctx)
	}
	return r.execCold(ctx)
}

// execCold runs the increment on the base row as the application wrote it.
func (r *Run) execCold(ctx context.Context) (answer, error) {
	start := time.Now()
	a, n, err := r.sendCounted(ctx)
	r.noteDuration(start, err)
	if err != nil {
		retries := r.row != (slots.RowKey{}) && r.conn.InAutocommit() && ctx.Err() == nil
		if retries && r.conn.Deadlocked(err) && r.conn.Engine.NotApplied(err) {
			return r.execIncrement(ctx) // the row is hot now, and in a slot it does not meet the others
		}
		if r.conn.InAutocommit() && r.conn.Engine.SlotFull(err) {
			return r.because(outOfRange).fallback(ctx) // the base value has, and the total may not
		}
		return answer{}, err
	}
	if n > 0 {
		r.Plan.tally.ranCold()
	}
	return a, r.addedToRow(ctx, n)
}

// noteDuration notes the outcome of an update of a base row that began at the given time.
func (r *Run) noteDuration(began time.Time, err error) {
	h, e := r.conn.Shared.heat, &r.conn.Engine
	switch {
	case r.row.Table == "":
	case err == nil:
		r.Plan.tally.heatedRow(h.NoteDuration(r.row, began))
	case e.Retryable(err), e.LockTimeout(err), e.Conflict(err):
		r.Plan.tally.heatedRow(h.NoteWait(r.row))
	}
}

// noteConflict notes that the transaction has met a conflict, perhaps about a row that it has
// counted. On a cluster it is COMMIT that reports it.
func (c *Conn) noteConflict(err error) {
	if len(c.counting) == 0 || err == nil || !c.Engine.Conflict(err) {
		return
	}
	for row, hot := range c.counting {
		if !hot {
			c.Shared.heat.NoteWait(row)
		}
	}
}

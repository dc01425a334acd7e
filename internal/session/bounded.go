package session

import (
	"context"
	"time"
)

// Guarded statements on bounded counters: see rewrite.Bounded for what the base row can decide by
// itself. If it cannot, the row is drained, and the total decides.

// bounded reports whether the statement may be tried on the base row first.
func (r *Run) bounded() bool {
	b := r.Plan.Bounded
	return b != nil && len(r.call.args) == r.Plan.Inputs && r.hasAllArgs() && r.formsMatch(b.Forms) && r.noNumbers(b.NotNumber)
}

// execBounded runs the statement on the base row, and if that affects no row, after a drain.
func (r *Run) execBounded(ctx context.Context) (answer, error) {
	row := &r.Plan.Bounded.Row
	if r.conn.Tx.KeepsLocks() {
		// Increments of other sessions since the transaction's snapshot may be in slots.
		if held, err := r.conn.conflicts(ctx, row.Table); err != nil {
			return answer{}, err
		} else if held {
			return r.because(heldToSnapshot).runDrained(ctx)
		}
		if res, err := r.execPortion(ctx); res != nil || err != nil {
			return answer{result: res}, err
		}
	}
	start := time.Now()
	a, n, err := r.onGuardedBase(ctx)
	r.noteDuration(start, err)
	switch {
	case err != nil && !r.refusedBase(err):
		return answer{}, err
	case err != nil || n == 0:
		return r.runDrained(ctx)
	}
	r.Plan.tally.ranCold()
	r.note(row, onBase)
	return a, nil
}

// onGuardedBase runs the statement on the base row, with a guard in place of each clamp.
func (r *Run) onGuardedBase(ctx context.Context) (answer, int64, error) {
	if own := r.Plan.Bounded.Own; own != nil {
		res, n, err := r.execBound(ctx, own)
		return answer{result: res}, n, err
	}
	return r.sendCounted(ctx)
}

// refusedBase reports whether an error means that the base value is out of range where the total
// may not be, and nothing of the statement is left.
func (r *Run) refusedBase(err error) bool {
	return r.conn.Engine.SlotFull(err) && (r.conn.InAutocommit() || !r.conn.Shared.Traits.ErrorAborts)
}

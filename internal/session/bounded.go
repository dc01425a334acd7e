package session

import (
	"context"
	"database/sql/driver"
	"time"
)

// Guarded statements on bounded counters: see rewrite.Bounded for what the base row alone
// may decide. Where it does not, the row is drained, and the total decides.

// bounded reports whether the statement may be tried on the base row first.
func (r *Run) bounded() bool {
	b := r.Plan.Bounded
	if b == nil || len(r.call.args) != r.Plan.Inputs || !r.complete() || !r.certain(b.Forms) {
		return false
	}
	for _, a := range b.NotNumber {
		if v, ok := r.value(a); !ok || isNumber(v.Value) {
			return false
		}
	}
	return true
}

// execBounded runs the statement on the base row, and where that affects no row on the
// drained one.
func (r *Run) execBounded(ctx context.Context) (driver.Result, error) {
	row := &r.Plan.Bounded.Row
	if r.conn.Tx.KeepsLocks() {
		// What others have done since the transaction's snapshot may be in slots.
		if held, err := r.conn.conflicts(ctx, row.Table); err != nil {
			return nil, err
		} else if held {
			return r.because(heldToSnapshot).execDrained(ctx)
		}
		if res, err := r.execPortion(ctx); res != nil || err != nil {
			return res, err
		}
	}
	start := time.Now()
	res, n, err := r.onGuardedBase(ctx)
	r.took(start, err)
	switch {
	case err != nil && !r.refusedBase(err):
		return nil, err
	case err != nil || n == 0:
		return r.execDrained(ctx)
	}
	r.Plan.tally.ranCold()
	r.note(*row, onBase)
	return res, nil
}

// onGuardedBase runs the statement on the base row, with a guard for each of its clamps.
func (r *Run) onGuardedBase(ctx context.Context) (driver.Result, int64, error) {
	if own := r.Plan.Bounded.Own; own != nil {
		return r.own(ctx, own)
	}
	return r.execTouching(ctx)
}

// refusedBase reports whether an error means that the base row does not take what the total
// may, and nothing of the statement is left.
func (r *Run) refusedBase(err error) bool {
	return r.conn.Engine.SlotFull(err) && (r.conn.InAutocommit() || !r.conn.Shared.Traits.ErrorAborts)
}

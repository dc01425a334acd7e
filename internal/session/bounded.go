package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// Guarded statements on bounded counters: see rewrite.Bounded for what the base row can decide by
// itself. If it cannot, the row is drained, and the total decides.

// bounded reports whether the statement may be tried on the base row first.
func bounded(r *Run) bool {
	b := r.Plan.Bounded
	return !r.call.wantsRows && len(r.call.args) == r.Plan.Inputs && r.args().Has(r.Plan.Drain.Tables) &&
		r.args().FormsMatch(b.Forms) && r.args().NoNumbers(b.NotNumber) && !r.recalls()
}

// fromPortion runs the statement, in a transaction, on a slot that holds a portion.
func fromPortion(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.conn.Rare.Any(link.TxOpen) || !bounded(r) {
		return answer{}, false, nil
	}
	// Increments of other sessions since the transaction's snapshot may be in slots.
	if held, err := r.conn.conflicts(ctx, r.Plan.Bounded.Row.Table); err != nil {
		return answer{}, false, err
	} else if held {
		r.cause = heldToSnapshot
		return answer{}, false, nil
	}
	a.result, err = execPortion(ctx, r)
	return a, a.result != nil, err
}

// onGuardedBase runs the statement on the base row, which it drains if that affects no row.
func onGuardedBase(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !bounded(r) {
		return answer{}, false, nil
	}
	start := time.Now()
	a, n, err := sendGuarded(ctx, r)
	r.noteDuration(start, err)
	switch {
	case err != nil && !r.refusedBase(err):
		return answer{}, false, err
	case err != nil || n == 0:
		return answer{}, false, nil
	}
	r.Plan.tally.cold.Add(1)
	noteChange(r, &r.Plan.Bounded.Row, changedOnBase)
	return a, true, nil
}

// sendGuarded runs the statement on the base row, with a guard in place of each clamp.
func sendGuarded(ctx context.Context, r *Run) (answer, int64, error) {
	if own := r.Plan.Bounded.Own; own != nil {
		res, n, err := r.execBound(ctx, own, nil)
		return answer{result: res}, n, err
	}
	return r.sendCounted(ctx)
}

// refusedBase reports whether an error means that the base value is out of range where the total
// may not be, and nothing of the statement is left.
func (r *Run) refusedBase(err error) bool {
	return r.conn.Engine.SlotFull(err) && (r.conn.InAutocommit() || !r.conn.Shared.Traits.ErrorAborts)
}

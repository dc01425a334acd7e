package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An increment of one row: the ways of ways.go that have no file of their own, and which of them its arguments allow.

// increment is the execution of one.
type increment struct {
	run  *Run
	conn *Conn
	of   *rewrite.Increment
}

func incrementOf(r *Run) increment { return increment{r, r.conn, r.Plan.Increment} }

// returningRows runs an increment that was sent as a query: an increment in a slot returns no rows.
func returningRows(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.call.wantsRows {
		return answer{}, false, nil
	}
	if !r.Plan.Increment.BaseExact() {
		r.cause = rowsAskedFor
		return answer{}, false, nil
	}
	if a, err = rowChangesOf(r).runChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row}); err == nil {
		r.Plan.tally.ranCold()
	}
	return a, true, err
}

// asWritten runs the increment on the base row as the application wrote it, if that is exact and only the engine can compare its
// key. It is not certain which rows it has changed, so all that it may have changed are remembered. It finds out whether the increment
// may run in one of the ways that follow.
func asWritten(ctx context.Context, r *Run) (a answer, done bool, err error) {
	inc := r.Plan.Increment
	switch {
	case r.Plan.fits && len(r.call.args) == r.Plan.Inputs:
	case !r.args().FormsMatch(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.Plan.Inputs:
		if a, err = r.send(ctx); err == nil {
			r.Plan.tally.ranCold()
			rowChangesOf(r).note(&inc.Row, changedOnBase)
		}
		return a, true, err
	case len(r.call.args) > r.Plan.Inputs || !r.args().FitSlot(inc): // too many are for the parent to refuse
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	if r.conn.Origin.RoleUnknown() {
		r.cause = roleUnknown
	}
	return answer{}, false, nil
}

// onOtherSide runs an increment on its base row that a slot cannot take.
func onOtherSide(ctx context.Context, r *Run) (a answer, done bool, err error) {
	in := incrementOf(r)
	switch {
	case !r.args().AgainstSide(in.of.Deltas):
		return answer{}, false, nil
	case !in.fitsBase():
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	return in.onBaseRow(ctx)
}

// onOwnRow runs an increment on its base row in a transaction that has the row to itself. If it does not, the increment waits until it
// is known whether such transactions go on to drain the row.
func onOwnRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.conn.Tx.KeepsLocks() {
		return answer{}, false, nil
	}
	in := incrementOf(r)
	if in.belongsOnBase() {
		a, err = in.execOnBase(ctx)
		return a, true, err
	}
	return answer{}, false, in.awaitTrial(ctx, changedInSlot)
}

// onLockedRow drains the row before the increment, in a transaction that must not meet it later.
func onLockedRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	in := incrementOf(r)
	first, err := in.drainsFirst(ctx)
	if err != nil || first == byPlan {
		return answer{}, false, err
	}
	return in.lockFirst(ctx, first)
}

// onAnyRow runs an upsert on whatever row it meets, or makes, if a slot could not take it.
func onAnyRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.cause.fellBack() {
		return answer{}, false, nil
	}
	r.Plan.tally.fellBack()
	if inc := r.Plan.Increment; !inc.Upsert || inc.Companions || !r.args().FitBase(&r.Plan.Base) {
		return answer{}, false, nil
	}
	if a, err = r.send(ctx); err == nil {
		rc := rowChangesOf(r)
		rc.note(&r.Plan.Increment.Row, changedOnBase)
		err = rc.holdIncrement(ctx)
	}
	return a, true, err
}

// fitsAny reports whether the increment may go to a slot, and to the base row, whatever its arguments are.
func (in increment) fitsAny() bool {
	return in.run.Plan.fits && len(in.run.call.args) == in.run.Plan.Inputs
}

// fitsBase reports whether the application's own statement, with its arguments, is exact
// on the base row whatever the row's slots hold.
func (in increment) fitsBase() bool {
	if in.fitsAny() {
		return true
	}
	require, ok := in.of.OnBase()
	return ok && in.run.args().Fit(require, true)
}

// isCold reports whether an increment is to run on its base row because the row is cold. In a
// transaction the row is then locked until the transaction ends.
func (in increment) isCold() bool {
	c := in.conn
	counter := in.of.Table.Counter
	if counter.Options.Placement != schema.PlacementAdaptive || counter.Layout == schema.LayoutJournal ||
		!in.fitsBase() && !(in.of.Latest && slotlessOf(in.run).provable()) {
		return false
	}
	row, keyed := in.heatKey()
	if !keyed {
		return false
	}
	row.Node = 0 // nodes of a cluster have the row in common
	if !c.Tx.KeepsLocks() {
		in.run.standing = c.Shared.heat.Look(row)
		if in.run.Plan.tally.heatedRow(in.run.standing.Became); !in.run.standing.Hot {
			in.run.row = row
		}
		return !in.run.standing.Hot
	}
	return !in.run.holdsHot(row)
}

// maxCounting is how many rows a transaction holds; further ones are cold for it.
const maxCounting = 4096

// holdsHot notes that the transaction counts a row, and reports whether the row is hot.
func (r *Run) holdsHot(row slots.RowKey) bool {
	c := r.conn
	hot, counted := c.counting[row]
	if !counted && len(c.counting) < maxCounting {
		r.standing = c.Shared.heat.Hold(row)
		hot = r.standing.Hot
		r.Plan.tally.heatedRow(r.standing.Became)
		if c.counting == nil {
			c.counting = map[slots.RowKey]bool{}
		}
		c.counting[row] = hot
	}
	if !hot {
		r.row = row
	}
	return hot
}

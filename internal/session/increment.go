package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
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
	if !r.Plan.Increment.BaseExact() {
		r.cause = rowsAskedFor
		return answer{}, false, nil
	}
	if a, err = rowChangesOf(r).runChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row}); err == nil {
		r.Plan.tally.cold.Add(1)
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
			r.Plan.tally.cold.Add(1)
			rowChangesOf(r).note(&inc.Row, changedOnBase)
		}
		return a, true, err
	case len(r.call.args) > r.Plan.Inputs || !r.args().FitSlot(inc): // too many are for the parent to refuse
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	if r.conn.Rare.Any(link.RoleUnknown) {
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
	if !r.conn.Rare.Any(link.TxOpen) {
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
	r.Plan.tally.fallbacks.Add(1)
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

// fitsBase reports whether the application's own statement, with its arguments, is exact
// on the base row whatever the row's slots hold.
func (in increment) fitsBase() bool {
	if in.run.Plan.fits && len(in.run.call.args) == in.run.Plan.Inputs {
		return true
	}
	require, ok := in.of.OnBase()
	return ok && in.run.args().Fit(require, true)
}

// rowOf names the row of a table by its key.
func (r *Run) rowOf(t *schema.Table, key []rewrite.KeyValue) (slots.RowKey, bool) {
	if len(t.Counter.Key) == 0 || len(key) == 0 {
		return slots.RowKey{Table: t.Counter.Slotted(), Node: r.conn.node.Number}, len(t.Counter.Key) == 0
	}
	var buf [64]byte
	b, args := buf[:0], r.args()
	for _, k := range key {
		b = append(b, ',')
		for i := range k.Parts {
			b = append(b, k.Parts[i].Of(r.Plan.Values)...)
			if i == len(k.Args) {
				break
			}
			v, ok := args.Value(k.Args[i])
			if !ok {
				return slots.RowKey{}, false
			}
			if b, ok = argument.AppendValue(b, v); !ok {
				return slots.RowKey{}, false
			}
		}
	}
	return slots.RowKey{Table: t.Counter.Slotted(), Values: string(b), Node: r.conn.node.Number}, true
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

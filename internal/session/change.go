package session

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement that changes rows of a counter table, and runs on the base rows as they are: what it
// has changed is remembered, see rowchange.go.

// onBase runs the plan's SQL on the base rows, and remembers the rows that it changes.
func onBase(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if r.Plan.Class == rewrite.AdditiveBase && !r.args().FitBase(&r.Plan.Base) {
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	if a, err = r.runOnBase(ctx); err == nil && r.Plan.Class == rewrite.AdditiveBase {
		r.Plan.tally.cold.Add(1)
	}
	return a, true, err
}

// runOnBase runs the plan's SQL on the base rows, and remembers the rows that it changes.
func (r *Run) runOnBase(ctx context.Context) (answer, error) {
	if len(r.Plan.Base.Changes) > 0 {
		return rowChangesOf(r).runChanging(ctx, r.Plan.Base.Changes)
	}
	return r.send(ctx)
}

// runChanging runs such a statement.
func (rc rowChanges) runChanging(ctx context.Context, changes []rewrite.DrainTable) (answer, error) {
	if rc.conn.InAutocommit() {
		return rc.run.runWithRetries(ctx, rc.run.send)
	}
	if first, err := rc.changesFirst(ctx); err != nil {
		return answer{}, err
	} else if own := rc.run.Plan.Base.Changes; first != byPlan && rc.run.args().Has(own) {
		dr := rc.run.drainOf(&rewrite.DrainPlan{Tables: own})
		dr.reason = first.String()
		return dr.orRead(ctx)
	}
	rc.changesCounted(changes)
	if rc.run.call.wantsRows {
		return rc.queryChanging(ctx, changes)
	}
	a, n, err := rc.run.sendCounted(ctx)
	if err != nil {
		return answer{}, err
	}
	rc.noteChanges(n)
	if err := rc.hold(ctx, changes); err != nil {
		return answer{}, err
	}
	return a, nil
}

// queryChanging runs one that may return rows. What it has changed is not known before they are
// read: all that it may.
func (rc rowChanges) queryChanging(ctx context.Context, changes []rewrite.DrainTable) (a answer, err error) {
	held := false
	for i := range changes {
		h, err := rc.conn.conflicts(ctx, changes[i].Table)
		if err != nil {
			return answer{}, err
		}
		held = held || h
	}
	if held {
		a, _, err = rc.run.sendCounted(ctx)
	} else {
		a, err = rc.run.send(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	how := changedOnBase
	if rc.run.Plan.Base.Fresh {
		how = changedNew
	}
	for i := range changes {
		noteChange(rc.run, &changes[i], how)
	}
	if held {
		err = rc.hold(ctx, changes)
	}
	return a, err
}

// changesFirst returns why the rows have to be drained before the statement changes them; byPlan if they need not be.
func (rc rowChanges) changesFirst(ctx context.Context) (drainCause, error) {
	if rc.run.Plan.Base.Fresh || len(rc.run.Plan.Base.Changes) != 1 {
		return byPlan, nil
	}
	rows := &rc.run.Plan.Base.Changes[0]
	first, err := rc.locksFirst(ctx, rows)
	if err == nil && first == readAfterwards {
		var asleep bool
		if asleep, err = slotlessOf(rc.run).asleepFor(ctx, rows); asleep {
			first = byPlan
		}
	}
	return first, err
}

// hold drains rows that the transaction has just changed, if it may not change rows that are newer
// than its snapshot.
func (rc rowChanges) hold(ctx context.Context, changes []rewrite.DrainTable) error {
	for i := range changes {
		t := changes[i].Table
		held, err := rc.conn.conflicts(ctx, t)
		if err == nil && held {
			err = rc.conn.drainChangesOf(ctx, []*schema.Table{t})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdIncrement is hold for the row of an increment.
func (rc rowChanges) holdIncrement(ctx context.Context) error {
	return rc.hold(ctx, []rewrite.DrainTable{rc.run.Plan.Increment.Row})
}

package session

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement that changes rows of a counter table, and runs on the base rows as they are: what it
// has changed is remembered, see rowchange.go.

// runChanging runs such a statement.
func (r *Run) runChanging(ctx context.Context, changes []rewrite.DrainTable) (answer, error) {
	if r.conn.InAutocommit() {
		return r.runWithRetries(ctx, r.send)
	}
	if first, err := r.changesFirst(ctx); err != nil {
		return answer{}, err
	} else if first {
		return r.drainingFirst().runDrained(ctx)
	}
	r.changesCounted(changes)
	if r.call.wantsRows {
		return r.queryChanging(ctx, changes)
	}
	a, n, err := r.sendCounted(ctx)
	if err != nil {
		return answer{}, err
	}
	r.noteChanges(n)
	if err := r.hold(ctx, changes); err != nil {
		return answer{}, err
	}
	return a, nil
}

// queryChanging runs one that may return rows. What it has changed is not known before they are
// read: all that it may.
func (r *Run) queryChanging(ctx context.Context, changes []rewrite.DrainTable) (a answer, err error) {
	held := false
	for i := range changes {
		h, err := r.conn.conflicts(ctx, changes[i].Table)
		if err != nil {
			return answer{}, err
		}
		held = held || h
	}
	if held {
		a, _, err = r.sendCounted(ctx)
	} else {
		a, err = r.send(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	how := onBase
	if r.Plan.Base.Fresh {
		how = inserted
	}
	for i := range changes {
		r.note(&changes[i], how)
	}
	if held {
		err = r.hold(ctx, changes)
	}
	return a, err
}

// changesFirst reports whether the rows have to be drained before the statement changes them.
func (r *Run) changesFirst(ctx context.Context) (bool, error) {
	if r.Plan.Base.Fresh || len(r.Plan.Base.Changes) != 1 {
		return false, nil
	}
	first, err := r.locksFirst(ctx, &r.Plan.Base.Changes[0])
	if first && err == nil && r.cause == readAfterwards {
		var asleep bool
		asleep, err = r.asleepFor(ctx, &r.Plan.Base.Changes[0])
		first = !asleep
	}
	return first, err
}

// drainingFirst returns the execution of the same statement with a drain of its rows.
func (r *Run) drainingFirst() *Run {
	cp, first := *r, *r.Plan.Plan
	first.Class, first.Reason = rewrite.Drain, "a transaction reads counters of a table and changes it"
	first.Drain.Tables = r.Plan.Base.Changes
	cp.Plan = r.Plan.variant(&first)
	return &cp
}

// hold drains rows that the transaction has just changed, if it may not change rows that are newer
// than its snapshot.
func (r *Run) hold(ctx context.Context, changes []rewrite.DrainTable) error {
	for i := range changes {
		t := changes[i].Table
		held, err := r.conn.conflicts(ctx, t)
		if err == nil && held {
			err = r.conn.drainChangesOf(ctx, []*schema.Table{t})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdIncrement is hold for the row of an increment.
func (r *Run) holdIncrement(ctx context.Context) error {
	if len(r.conn.readTables) == 0 {
		return nil
	}
	return r.hold(ctx, []rewrite.DrainTable{r.Plan.Increment.Row})
}

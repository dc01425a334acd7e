package session

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Placement adaptive: an increment of a cold row is the application's own statement on the base
// row, alone or in a group; one of a hot row goes to a slot. slots.Heat says which rows are hot,
// and onColdRow (increment.go) makes the choice. Both are exact at any time, whatever other increments do. This file has what an increment
// of a cold row rarely does: it asks who holds the row, folds the slots of a row that has cooled, or sets a companion.

// askPatience is how long an increment waits for the answer to its question, which takes no lock that it could wait for.
const askPatience = 250 * time.Millisecond

// askHolder asks whether another session holds the row of an increment. It asks on a connection that holds
// nothing, and so takes part in no deadlock, before the session itself comes to the row. The query holds the row, if it is free,
// as long as it runs.
func (r *Run) askHolder(ctx context.Context, row *rewrite.DrainTable) {
	s := r.conn.Shared
	if s.Traits.SkipLocked == "" || !s.OpensAside || !r.conn.Facts.Common() { // elsewhere the table's name may mean another one
		return
	}
	args, err := r.bind(row.Rows.Args, nil)
	if err != nil {
		return // the increment will say so
	}
	held, took := false, time.Duration(0)
	err = s.Beside(ctx, askPatience, func(ctx context.Context, v *catalog.View) error {
		start := time.Now()
		found, err := v.ParentQuery(ctx, "SELECT 1 FROM "+r.sql(&row.Rows)+" "+s.Traits.SkipLocked, args)
		if err != nil {
			return err
		}
		rows, err := link.Collect(found)
		held, took = len(rows) == 0, time.Since(start)
		return err
	})
	s.heat.NoteHeld(r.row, held, took, err)
}

// foldsCooled reports whether the increment is to fold the slots of its row, which is no longer hot in this process. So the
// table sleeps soon, even if the row is held by one transaction after another.
func (in increment) foldsCooled() bool {
	c := in.conn
	return in.of.Table.Counter.Options.OnDrain == schema.OnDrainRun && !c.snapshotHeld() && !c.Cluster &&
		c.Shared.heat.Cooled(in.run.row)
}

// onCooledRow runs an increment of a row whose slots are to go. In a transaction it runs before the fold, so that its row is
// locked in the way that plain locks it. MySQL may find the row by another index than its key, and lock the entry there first: a
// drain that locked it by the key would deadlock with increments of others.
func (in increment) onCooledRow(ctx context.Context) (a answer, done bool, err error) {
	c := in.conn
	if !c.Rare.Any(link.TxOpen) || c.Shared.Traits.OneWriter || !in.fitsBase() {
		in.run.cause = rowCooled
		return answer{}, false, nil
	}
	if a, done, err = in.onBaseRow(ctx); err != nil || !done {
		return a, done, err
	}
	if n, err := a.result.RowsAffected(); n == 0 || err != nil {
		return a, true, err
	}
	return a, true, in.foldBehind(ctx)
}

// foldBehind folds the slots of the row, behind the increment, which has locked the row. The transaction has not counted in one, so this
// says nothing about what transactions with such a statement go on to do (slots.Habit).
func (in increment) foldBehind(ctx context.Context) error {
	dr := in.run.drainOf(&rewrite.DrainPlan{Tables: []rewrite.DrainTable{in.of.Row}})
	dr.ofChanges = true
	defer in.conn.Drain.End()
	_, err := dr.drain(ctx)
	return in.conn.Lost(err)
}

// execColdLatest runs an increment that sets a companion of which the latest value counts. What slots hold of it is taken to be
// newer than the base row's. So the statement runs on the base row if that has no slots, in the form of a drain's statement that
// proves it. If it has some, because another process counts it, the row is hot here as well.
func (in increment) execColdLatest(ctx context.Context) (answer, error) {
	start := time.Now()
	a, done, err := in.addThenAsk(ctx)
	if !done && err == nil {
		a, done, err = whileSlotless(ctx, in.run)
	}
	switch {
	case done, err != nil:
	case in.conn.Rare.Any(link.TxOpen):
		dr := in.run.drainOf(&in.run.Plan.Drain)
		if a, err = dr.orRead(ctx); dr.addedToBase {
			in.noteSlots()
		}
	case in.noteSlots():
		in.conn.Shared.woke(in.of.Table, slots.WokenByOther)
		var counted bool
		if a, counted, err = inSlot(ctx, in.run); !counted && err == nil {
			a, err = in.run.exactly(ctx, &incrementWays)
		}
		return a, err
	default:
		a, err = in.run.exactly(ctx, &drainWays)
	}
	in.run.noteDuration(start, err)
	if err != nil && in.retriesInSlot(ctx, err) {
		return in.runHot(ctx)
	}
	return a, err
}

// runHot runs an increment anew whose row has become hot.
func (in increment) runHot(ctx context.Context) (answer, error) {
	a, err := in.run.runAlone(ctx)
	in.run.cause = byPlan // it has run, whatever for
	return a, err
}

// addThenAsk runs such an increment in a transaction: on the base row first, and in the same round trip the question whether that has
// slots. To the counters it makes no difference. If there are slots, their companions count as set before the statement, since its
// row lock keeps others out: they are folded, and the statement's own are set again. It reports false if nothing has been done.
func (in increment) addThenAsk(ctx context.Context) (a answer, done bool, err error) {
	c, inc := in.conn, in.of
	require, ok := inc.AddsOnBase()
	given := in.run.args()
	if !ok || c.InAutocommit() || !given.Fit(require, true) || !slotlessOf(in.run).provable() || !given.FormsMatch(inc.Row.Forms) ||
		c.Tx.Own() || c.snapshotBegun() || c.addedToSlots(inc.Table) {
		return answer{}, false, nil
	}
	call, err := in.run.sqlCall()
	if err != nil {
		return answer{}, false, err
	}
	args, err := in.run.bind(inc.Asked.Args, nil)
	if err != nil {
		return answer{}, false, err
	}
	out, err := c.Engine.Pipeliner.Pipeline(ctx, c.Parent, []dialect.Statement{
		{SQL: in.run.Plan.SQL, Args: call.args}, {SQL: in.run.sql(inc.Asked), Args: args},
	})
	if err == driver.ErrSkip {
		return answer{}, false, nil
	}
	if err != nil {
		return answer{}, true, err
	}
	a = in.run.answerOf(&out[0], nil)
	switch {
	case out[0].Affected == 0:
		in.run.Plan.tally.cold.Add(1)
	case len(out[1].Rows) == 0:
		in.run.Plan.tally.cold.Add(1)
		slotlessOf(in.run).noteProvenInTx(true)
	default:
		if err = in.addedToRow(ctx, out[0].Affected); err == nil {
			err = in.foldBehind(ctx)
		}
		if err == nil {
			err = in.run.steps(ctx, []rewrite.Bound{*inc.Stated})
		}
		if link.TextOf(out[1].Rows[0][0]) == "1" {
			in.noteSlots()
		}
	}
	return a, true, err
}

// noteSlots notes that the row has slots, and reports whether it is hot now.
func (in increment) noteSlots() (hot bool) {
	hot, became := in.conn.Shared.heat.NoteSlots(in.run.row)
	if became {
		in.run.Plan.tally.heated.Add(1)
	}
	return hot
}

// retriesInSlot reports whether an update of a base row that was chosen as deadlock victim, and has done nothing, is to run in a
// slot: the row is hot now, and there it does not meet the others.
func (in increment) retriesInSlot(ctx context.Context, err error) bool {
	retries := in.run.row != (slots.RowKey{}) && in.conn.InAutocommit() && ctx.Err() == nil
	return retries && in.conn.Deadlocked(err) && in.conn.Engine.NotApplied(err)
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

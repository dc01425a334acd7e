package session

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Placement adaptive: an increment of a cold row is the application's own statement on the base
// row, alone or in a group; one of a hot row goes to a slot. slots.Heat says which rows are hot,
// and onColdRow makes the choice. Both are exact at any time, whatever other increments do.

// execColdRow runs an increment of a cold row, together with others that overlap with it.
func (r *Run) execColdRow(ctx context.Context) (answer, error) {
	if !r.conn.Tx.KeepsLocks() {
		return r.runGrouped(ctx, r.execCold)
	}
	if r.Plan.Increment.Latest {
		return r.execCold(ctx)
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

// foldsCooled reports whether the increment is to fold the slots of its row, which is no longer hot in this process. So the
// table sleeps soon, even if the row is held by one transaction after another.
func (r *Run) foldsCooled() bool {
	c := r.conn
	return r.standing.Left && r.Plan.Increment.Table.Counter.Options.OnDrain == schema.OnDrainRun && !c.snapshotHeld() && !c.Cluster &&
		c.Shared.heat.Cooled(r.row)
}

// execCooledRow runs an increment of a row whose slots are to go. In a transaction it runs before the fold, so that its row is
// locked in the way that plain locks it. MySQL may find the row by another index than its key, and lock the entry there first: a
// drain that locked it by the key would deadlock with increments of others.
func (r *Run) execCooledRow(ctx context.Context) (answer, error) {
	c := r.conn
	if !c.Tx.KeepsLocks() || c.Shared.Traits.OneWriter || !r.incrementFitsBase() {
		return r.because(rowCooled).runDrained(ctx)
	}
	a, err := r.execColdRow(ctx)
	if err != nil {
		return a, err
	}
	if n, err := a.result.RowsAffected(); n == 0 || err != nil {
		return a, err
	}
	drain := &rewrite.Plan{Class: rewrite.Drain, SQL: r.Plan.SQL, Values: r.Plan.Values}
	drain.Drain.Tables = []rewrite.DrainTable{r.Plan.Increment.Row}
	fold := c.newRun(r.Plan.variant(drain), direct{c}, r.call).because(rowCooled)
	fold.ofChanges = true
	defer c.Drain.End()
	_, err = fold.drain(ctx)
	return a, c.Lost(err)
}

// execCold runs the increment on the base row as the application wrote it.
func (r *Run) execCold(ctx context.Context) (answer, error) {
	if r.Plan.Increment.Latest {
		return r.execColdLatest(ctx)
	}
	start := time.Now()
	a, n, err := r.sendCounted(ctx)
	r.noteDuration(start, err)
	if err != nil {
		if r.retriesInSlot(ctx, err) {
			return r.execIncrement(ctx)
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

// execColdLatest runs an increment that sets a companion of which the latest value counts. What slots hold of it is taken to be
// newer than the base row's. So the statement runs on the base row if that has no slots, in the form of a drain's statement that
// proves it. If it has some, because another process counts it, the row is hot here as well.
func (r *Run) execColdLatest(ctx context.Context) (answer, error) {
	start := time.Now()
	a, done, err := r.addThenAsk(ctx)
	if !done && err == nil {
		a, done, err = r.runProven(ctx)
	}
	switch {
	case done, err != nil:
	case r.conn.Tx.KeepsLocks():
		if a, err = r.runDrained(ctx); r.addedToBase {
			r.noteSlots()
		}
	case r.noteSlots():
		r.conn.Shared.woke(r.Plan.Increment.Table, slots.WokenByOther)
		return r.execInSlot(ctx)
	default:
		a, err = r.runDrained(ctx)
	}
	r.noteDuration(start, err)
	if err != nil && r.retriesInSlot(ctx, err) {
		return r.execIncrement(ctx)
	}
	return a, err
}

// addThenAsk runs such an increment in a transaction: on the base row first, and in the same round trip the question whether that has
// slots. To the counters it makes no difference. If there are slots, their companions count as set before the statement, since its
// row lock keeps others out: they are folded, and the statement's own are set again. It reports false if nothing has been done.
func (r *Run) addThenAsk(ctx context.Context) (a answer, done bool, err error) {
	c, inc := r.conn, r.Plan.Increment
	require, ok := inc.AddsOnBase()
	if !ok || c.InAutocommit() || !r.fits(require, true) || !r.provable() || !r.formsMatch(inc.Row.Forms) ||
		c.Tx.Own() || c.snapshotBegun() || c.addedToSlots(inc.Table) {
		return answer{}, false, nil
	}
	call, err := r.sqlCall()
	if err != nil {
		return answer{}, false, err
	}
	args, err := r.bind(inc.Asked.Args)
	if err != nil {
		return answer{}, false, err
	}
	out, err := c.Engine.Pipeliner.Pipeline(ctx, c.Parent, []dialect.Statement{
		{SQL: r.Plan.SQL, Args: call.args}, {SQL: r.sql(inc.Asked), Args: args},
	})
	if err == driver.ErrSkip {
		return answer{}, false, nil
	}
	if err != nil {
		return answer{}, true, err
	}
	a = r.answerOf(&out[0], nil)
	switch {
	case out[0].Affected == 0:
	case len(out[1].Rows) == 0:
		r.Plan.tally.ranCold()
		r.noteProvenInTx(true)
	default:
		if err = r.addedToRow(ctx, out[0].Affected); err == nil {
			err = c.drainChangesOf(ctx, []*schema.Table{inc.Table})
		}
		if err == nil {
			err = r.steps(ctx, []rewrite.Bound{*inc.Stated})
		}
		if link.TextOf(out[1].Rows[0][0]) == "1" {
			r.noteSlots()
		}
	}
	return a, true, err
}

// noteSlots notes that the row has slots, and reports whether it is hot now.
func (r *Run) noteSlots() (hot bool) {
	hot, became := r.conn.Shared.heat.NoteSlots(r.row)
	r.Plan.tally.heatedRow(became)
	return hot
}

// retriesInSlot reports whether an update of a base row that was chosen as deadlock victim, and has done nothing, is to run in a
// slot: the row is hot now, and there it does not meet the others.
func (r *Run) retriesInSlot(ctx context.Context, err error) bool {
	retries := r.row != (slots.RowKey{}) && r.conn.InAutocommit() && ctx.Err() == nil
	return retries && r.conn.Deadlocked(err) && r.conn.Engine.NotApplied(err)
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

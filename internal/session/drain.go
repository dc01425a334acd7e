package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A drain: in one transaction, rows are locked, their slots are folded into them, and the
// application's own statement runs on what is there then.

// drain is one drain. It holds what is drained, and what has happened so far. None of these facts
// excludes another, and each is read in one place.
type drain struct {
	run    *Run
	conn   *Conn
	form   *rewrite.DrainPlan
	reason string // for the log, if neither the plan nor the execution has it
	adds   bool   // the statement adds to whatever row it meets, drained or not
	// ofChanges: it drains rows that its transaction has changed.
	ofChanges bool

	// folded: slots have been found. addedToBase: something has been added to base rows.
	folded, addedToBase bool
	// found is how many rows have been locked by their keys. recounted is how many a DELETE
	// was found to touch then, for which it has run again.
	found, recounted int
	// rowAppeared: the statement has touched a row that its drain did not find.
	rowAppeared bool
	// first is the application's query, if it has taken the drain's lock itself.
	first lockingRead
	// cleanUpDue: Before has run, so the statements of After have to run even if the application's
	// own fails.
	cleanUpDue bool
}

// drainOf returns a drain for the execution.
func (r *Run) drainOf(form *rewrite.DrainPlan) *drain {
	adds := r.Plan.Class == rewrite.Additive && !r.Plan.Increment.Companions && !r.call.wantsRows
	return &drain{run: r, conn: r.conn, form: form, adds: adds}
}

// lacksArgument runs a statement as it is if a placeholder of its drain has no argument: it cannot run, so it needs no drain.
func lacksArgument(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if r.args().Has(r.Plan.Drain.Tables) {
		return answer{}, false, nil
	}
	a, err = r.send(ctx)
	return a, true, err
}

// lacksTransaction runs a statement as it is if the engine would refuse it because no transaction is
// open. In one of slotsql's own it would succeed, with a lock or a cursor that ends at once.
func lacksTransaction(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.Plan.Drain.InsideTx {
		return answer{}, false, nil
	}
	if open, err := r.conn.InTransaction(ctx); err != nil || open {
		return answer{}, false, err
	}
	a, err = r.send(ctx)
	return a, true, err
}

// outsideTx runs a statement that the engine only accepts outside transactions, after a drain in
// a transaction of its own. If slots have come between the two, they are referenced rows to the
// engine, which refuses the statement, and nothing is lost. Inside a transaction the statement
// fails as it does with the plain driver.
func outsideTx(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.Plan.Drain.OutsideTx {
		return answer{}, false, nil
	}
	open, err := r.conn.InTransaction(ctx)
	if err == nil && !open {
		dr := r.drainOf(&r.Plan.Drain)
		defer r.conn.Drain.End()
		err = r.conn.InOwnTx(ctx, func() error {
			_, err := dr.drain(ctx)
			return err
		})
	}
	if err == nil {
		a, err = r.send(ctx)
	}
	return a, true, err
}

// behindRecall drains, runs the statement behind that, and waits until no number is drawn from the blocks that it ends.
func behindRecall(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.recalls() {
		return answer{}, false, nil
	}
	a, err = r.drainOf(&r.Plan.Drain).retried(ctx)
	return a, true, err
}

// afterDrain drains, and runs the statement behind it.
func afterDrain(ctx context.Context, r *Run) (answer, bool, error) {
	a, err := r.drainOf(&r.Plan.Drain).orRead(ctx)
	if err == nil && r.call.wantsRows {
		slotlessOf(r).noteReturned(a.rows)
	}
	return a, true, err
}

// orRead drains, and runs the statement behind that. Where nothing may be written, the statement runs in a snapshot that shows no slots.
func (dr *drain) orRead(ctx context.Context) (answer, error) {
	uw := unwritable{dr.run, dr.conn, dr.form}
	if a, done, err := uw.refused(ctx); done || err != nil {
		return a, err
	}
	a, err := dr.retried(ctx)
	if c := dr.conn; c.Engine.ReadOnly(err) && !c.Rare.Any(link.Broken) && (!c.Tx.LastKnownOpen() || !c.Shared.Traits.ErrorAborts) {
		if a, done, serr := uw.runInSnapshot(ctx); done || serr != nil {
			return a, serr
		}
	}
	return a, err
}

// retried is drainAndRun, again after a retryable error.
func (dr *drain) retried(ctx context.Context) (answer, error) {
	return dr.run.runWithRetries(ctx, dr.drainAndRun)
}

// drainAndRun drains, and runs the statement in the same transaction. The rows of a query are
// streamed to the application, and the drain's transaction ends with them. Where that may be a
// savepoint in the application's transaction, the rows are read at once: the application may send
// other statements while they are open.
func (dr *drain) drainAndRun(ctx context.Context) (a answer, err error) {
	defer dr.conn.Drain.End()
	dr.first = lockingRead{due: dr.run.call.wantsRows}
	end, err := dr.conn.BeginOwn(ctx)
	if err != nil {
		return answer{}, err
	}
	dr.conn.Yield()
	missed, err := dr.drain(ctx)
	if err != nil {
		dr.conn.Insist(err)
		dr.cleanUp(ctx, err)
		return answer{}, end(dr.run.unapplied(err))
	}
	rowChangesOf(dr.run).noteDrained(dr.form.Tables) // also if the statement fails: its transaction may go on
	unlocked := false
	if dr.adds {
		unlocked, missed = missed, false
	}
	stream := dr.run.call.wantsRows && !missed && !dr.conn.Shared.Dialect.Drain().Nested
	err = dr.runUnderSavepoint(ctx, missed, func() (n int64, err error) {
		switch {
		case dr.first.rows != nil && !missed:
			a.rows, stream = dr.first.rows, false
		case stream:
			a, err = dr.run.send(ctx)
		default:
			a, n, err = dr.run.sendCounted(ctx)
		}
		return n, dr.run.unapplied(err)
	})
	dr.conn.Insist(err)
	if err == nil && stream {
		return answer{rows: dr.endingWith(ctx, a.rows, end)}, nil
	}
	if err := dr.finish(ctx, err, end); err != nil {
		return answer{}, err
	}
	if unlocked { // a row inserted since the drain is only changed
		noteChange(dr.run, &dr.run.Plan.Increment.Row, changedOnBase)
	}
	return a, nil
}

// endingWith returns rows whose end also ends the drain's transaction.
func (dr *drain) endingWith(ctx context.Context, rows driver.Rows, end func(error) error) driver.Rows {
	return &link.FinishingRows{RowsBase: link.RowsBase{Rows: rows}, Finish: func(failed bool) error {
		if failed {
			return dr.finish(ctx, link.ErrRowsFailed, end)
		}
		return dr.finish(ctx, nil, end)
	}}
}

// finish runs what follows the statement of a drain, which may have failed, and ends the drain's
// transaction.
func (dr *drain) finish(ctx context.Context, err error, end func(error) error) error {
	if err == nil {
		if dr.run.recalls() {
			recall(dr.run)
		}
		err = dr.run.steps(ctx, dr.form.After)
	}
	dr.cleanUp(ctx, err)
	if err != nil && dr.run.partsStay && link.Settled(err) == err {
		if cerr := end(nil); cerr != nil {
			return cerr
		}
		return err
	}
	return end(err)
}

// unapplied marks an error by which the parent asks for a new connection (driver.ErrBadConn, which
// go-sql-driver returns after a failover with rejectReadOnly=true), so that database/sql may run
// the statement again. That is safe if none of the application's SQL has been applied: what the
// drain has done is rolled back, and would have changed no total. It is not for statements that
// have an effect outside the transaction.
func (r *Run) unapplied(err error) error {
	if err == nil || !errors.Is(err, driver.ErrBadConn) || r.partsStay || len(r.Plan.Drain.Before) > 0 ||
		r.Plan.Effects&(rewrite.SchemaChange|rewrite.TxControl) != 0 {
		return err
	}
	return link.Unapplied(err)
}

// drain locks and folds, and runs what has to come before the statement. Missed reports whether it
// locked no row, or fewer than the statement may touch.
func (dr *drain) drain(ctx context.Context) (missed bool, err error) {
	dr.conn.Drain.Begin()
	for _, d := range dr.form.Tables {
		d = dr.lockByTransaction(dr.run.rowsToDrain(d))
		if rowChangesOf(dr.run).isSlotless(&d) {
			continue
		}
		open, err := dr.drainTable(ctx, &d)
		if err != nil {
			return false, err
		}
		missed = missed || open
	}
	dr.cleanUpDue = len(dr.form.After) > 0
	return missed, dr.run.steps(ctx, dr.form.Before)
}

// drainTable locks and folds rows of one table. Open reports whether the statement may touch
// others.
func (dr *drain) drainTable(ctx context.Context, d *rewrite.DrainTable) (open bool, err error) {
	open, err = dr.lockAndFold(ctx, d)
	uw := unwritable{dr.run, dr.conn, dr.form}
	return open, uw.explainReadOnly(d.Table, uw.explainDenied(d.Table, explainOutdated(dr.conn, d, err)))
}

func (dr *drain) lockAndFold(ctx context.Context, d *rewrite.DrainTable) (open bool, err error) {
	dr.conn.drainsCounted(d.Table, dr.run.args().KeyNumbers(d))
	foldsPortions(dr.run, d)
	l, err := dr.lookOrLock(ctx, d)
	if err != nil {
		return false, err
	}
	if !l.slotless || !dr.ofChanges {
		dr.run.Plan.tally.drains.Add(1)
	}
	if d.Table.Counter.Options.OnDrain == schema.OnDrainWarn {
		dr.warn(ctx, d, l.some)
	}
	dr.found = rowsOf(l.rows)
	if !l.some {
		return l.open, nil
	}
	if slotless, err := dr.meetNewer(ctx, d, l); slotless || err != nil || d.Folding == rewrite.FoldNothing {
		return l.open, err
	}
	if idle, err := dr.nothingToFold(ctx, d); idle || err != nil {
		return l.open, err
	}
	dr.folded = true
	if d.Folding == rewrite.FoldByName {
		err = dr.foldOrNoteSlotless(ctx, d, l.rows)
	} else {
		err = dr.fold(ctx, d)
	}
	return l.open, err
}

// nothingToFold reports whether a drain whose rows are locked has no fold to run. A fold of
// nothing changes no row, but would fire a statement trigger. No existing slot row can be missed:
// one that is newer than the transaction's snapshot has been met by then (newerslots.go), and no
// other can be created while the lock is held.
func (dr *drain) nothingToFold(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	if !dr.conn.Shared.Traits.StatementTriggers || !d.Table.Triggers.Update || d.Look.Held == nil {
		return false, nil
	}
	found, err := dr.run.find(ctx, d.Look.Held)
	return err == nil && len(found) == 0, err
}

// lockByTransaction returns a drain with the lock that its transaction needs. One that slotsql has
// begun, because a try has shown that the row has slots, holds no other lock that anybody could
// wait for. So its lock may wait for sessions that only refer to the row, and for increments in
// slots.
func (dr *drain) lockByTransaction(d rewrite.DrainTable) rewrite.DrainTable {
	if d.LockAlone != nil && dr.form.Proof != nil && dr.conn.Tx.Own() {
		d.Lock = d.LockAlone
	}
	return d
}

// explainOutdated adds an explanation to an error for which the drain would be planned again, had
// it not ended the application's transaction.
func explainOutdated(c *Conn, d *rewrite.DrainTable, err error) error {
	if err == nil || !c.Engine.SchemaChanged(err) || c.InAutocommit() {
		return err
	}
	// It was slotsql's own statement, so the facts are certainly out of date. The retry must not
	// use them, however long reading the catalog takes.
	c.Catalog.Expire()
	return fmt.Errorf("slotsql: the columns of slot table %q have changed; retry the transaction: %w", d.Table.Counter.SlotTable.Name, err)
}

// cleanUp runs the statements that follow the application's own after one of them has failed.
// MySQL's TRUNCATE runs between LOCK TABLES and UNLOCK TABLES, which no rollback undoes, and
// without the slot table's foreign key. Each statement is harmless if it has nothing to do, and
// the ones after a failed one are still needed.
func (dr *drain) cleanUp(ctx context.Context, err error) {
	if err == nil || !dr.cleanUpDue {
		return
	}
	dr.cleanUpDue = false
	for i := range dr.form.After {
		_ = dr.conn.Discard(context.WithoutCancel(ctx), dr.run.sql(&dr.form.After[i]), nil)
	}
}

// steps runs statements whose rows, if any, do not matter.
func (r *Run) steps(ctx context.Context, list []rewrite.Bound) error {
	for i := range list {
		if _, err := r.step(ctx, &list[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// step runs one, and returns the number of rows affected: 0 if the parent does not tell.
func (r *Run) step(ctx context.Context, b *rewrite.Bound, own binding) (int64, error) {
	args, err := r.bind(b.Args, own)
	if err != nil {
		return 0, err
	}
	res, err := r.conn.ParentExec(ctx, r.sql(b), args)
	if err != nil {
		return 0, err
	}
	n, _ := res.RowsAffected()
	return n, nil
}

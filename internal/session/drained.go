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

func (r *Run) runDrained(ctx context.Context) (answer, error) {
	if !r.hasAllArgs() {
		return r.send(ctx)
	}
	if r.Plan.Drain.OutsideTx {
		return r.runOutside(ctx)
	}
	if misplaced, err := r.lacksTransaction(ctx); err != nil {
		return answer{}, err
	} else if misplaced {
		return r.send(ctx)
	}
	if r.recalls() {
		return r.runWithRetries(ctx, r.drainAndRun)
	}
	if rows, err := r.observeDrained(ctx); rows != nil || err != nil {
		return answer{rows: rows}, err
	}
	readOnly, err := r.inReadOnlyTx(ctx)
	if err != nil {
		return answer{}, err
	}
	if !readOnly {
		if a, done, err := r.runAsleep(ctx); done || err != nil {
			return a, err
		}
	}
	if a, done, err := r.runProven(ctx); done || err != nil {
		return a, err
	}
	if r.Plan.Drain.FoldOptional {
		return r.runOptional(ctx)
	}
	if readOnly {
		return r.runInReadOnlyTx(ctx)
	}
	a, err := r.runWithRetries(ctx, r.drainAndRun)
	if r.isReadOnly(err) && !r.conn.Broken && (!r.conn.Tx.LastKnownOpen() || !r.conn.Shared.Traits.ErrorAborts) {
		if a, done, serr := r.runInSnapshot(ctx); done || serr != nil {
			return a, serr
		}
	}
	if err == nil && r.call.wantsRows {
		r.noteReturned(a.rows)
	}
	return a, err
}

// lacksTransaction reports whether the engine would refuse the statement because no transaction is
// open. In one of slotsql's own it would succeed, with a lock or a cursor that ends at once.
func (r *Run) lacksTransaction(ctx context.Context) (bool, error) {
	if !r.Plan.Drain.InsideTx {
		return false, nil
	}
	open, err := r.conn.InTransaction(ctx)
	return !open, err
}

// runOutside runs a statement that the engine only accepts outside transactions, after a drain in
// a transaction of its own. If slots have come between the two, they are referenced rows to the
// engine, which refuses the statement, and nothing is lost. Inside a transaction the statement
// fails as it does with the plain driver.
func (r *Run) runOutside(ctx context.Context) (answer, error) {
	open, err := r.conn.InTransaction(ctx)
	if err != nil {
		return answer{}, err
	}
	if !open {
		if err := r.drainSeparately(ctx); err != nil {
			return answer{}, err
		}
	}
	return r.send(ctx)
}

func (r *Run) drainSeparately(ctx context.Context) error {
	defer r.conn.Drain.End()
	return r.conn.InOwnTx(ctx, func() error {
		_, err := r.drain(ctx)
		return err
	})
}

// drainAndRun drains, and runs the statement in the same transaction. The rows of a query are
// streamed to the application, and the drain's transaction ends with them. Where that may be a
// savepoint in the application's transaction, the rows are read at once: the application may send
// other statements while they are open.
func (r *Run) drainAndRun(ctx context.Context) (a answer, err error) {
	defer r.conn.Drain.End()
	r.first = lockingRead{due: r.call.wantsRows}
	end, err := r.conn.BeginOwn(ctx)
	if err != nil {
		return answer{}, err
	}
	r.conn.Yield()
	missed, err := r.drain(ctx)
	if err != nil {
		r.conn.Insist(err)
		r.cleanUp(ctx, err)
		return answer{}, end(r.unapplied(err))
	}
	r.noteDrained() // also if the statement fails: its transaction may go on
	unlocked := false
	if r.Plan.Class == rewrite.Additive && !r.Plan.Increment.Companions && !r.call.wantsRows {
		unlocked, missed = missed, false // adds to whatever row it meets
	}
	stream := r.call.wantsRows && !missed && !r.conn.Shared.Dialect.Drain().Nested
	err = r.runUnderSavepoint(ctx, missed, func() (n int64, err error) {
		switch {
		case r.first.rows != nil && !missed:
			a.rows, stream = r.first.rows, false
		case stream:
			a, err = r.send(ctx)
		default:
			a, n, err = r.sendCounted(ctx)
		}
		return n, r.unapplied(err)
	})
	r.conn.Insist(err)
	if err == nil && stream {
		return answer{rows: r.endingWith(ctx, a.rows, end)}, nil
	}
	if err := r.finish(ctx, err, end); err != nil {
		return answer{}, err
	}
	if unlocked { // a row inserted since the drain is only changed
		r.note(&r.Plan.Increment.Row, onBase)
	}
	return a, nil
}

// endingWith returns rows whose end also ends the drain's transaction.
func (r *Run) endingWith(ctx context.Context, rows driver.Rows, end func(error) error) driver.Rows {
	return &link.FinishingRows{RowsBase: link.RowsBase{Rows: rows}, Finish: func(failed bool) error {
		if failed {
			return r.finish(ctx, link.ErrRowsFailed, end)
		}
		return r.finish(ctx, nil, end)
	}}
}

// finish runs what follows the statement of a drain, which may have failed, and ends the drain's
// transaction.
func (r *Run) finish(ctx context.Context, err error, end func(error) error) error {
	if err == nil {
		if r.recalls() {
			r.recall()
		}
		err = r.steps(ctx, r.Plan.Drain.After)
	}
	r.cleanUp(ctx, err)
	if err != nil && r.partsStay && link.Settled(err) == err {
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
func (r *Run) drain(ctx context.Context) (missed bool, err error) {
	r.conn.Drain.Begin()
	for _, d := range r.Plan.Drain.Tables {
		d = r.lockByTransaction(r.rowsToDrain(d))
		if r.isBare(&d) {
			continue
		}
		open, err := r.drainTable(ctx, &d)
		if err != nil {
			return false, err
		}
		missed = missed || open
	}
	r.cleanUpDue = len(r.Plan.Drain.After) > 0
	return missed, r.steps(ctx, r.Plan.Drain.Before)
}

// drainTable locks and folds rows of one table. Open reports whether the statement may touch
// others.
func (r *Run) drainTable(ctx context.Context, d *rewrite.DrainTable) (open bool, err error) {
	open, err = r.lockAndFold(ctx, d)
	return open, r.explainReadOnly(d.Table, r.explainDenied(d.Table, r.explainOutdated(d, err)))
}

func (r *Run) lockAndFold(ctx context.Context, d *rewrite.DrainTable) (open bool, err error) {
	r.conn.drainsCounted(d.Table, r.keyNumbers(d))
	r.foldsPortions(d)
	l, err := r.lookOrLock(ctx, d)
	if err != nil {
		return false, err
	}
	if !l.bare || !r.ofChanges {
		r.Plan.tally.drained()
	}
	if d.Table.Counter.Options.OnDrain == schema.OnDrainWarn {
		r.warn(ctx, d, l.some)
	}
	r.found = rowsOf(l.rows)
	if !l.some {
		return l.open, nil
	}
	if bare, err := r.meetNewer(ctx, d, l); bare || err != nil || d.Folding == rewrite.FoldNothing {
		return l.open, err
	}
	if idle, err := r.nothingToFold(ctx, d); idle || err != nil {
		return l.open, err
	}
	r.folded = true
	if d.Folding == rewrite.FoldByName {
		err = r.foldOrKeepBare(ctx, d, l.rows)
	} else {
		err = r.fold(ctx, d)
	}
	return l.open, err
}

// nothingToFold reports whether a drain whose rows are locked has no fold to run. A fold of
// nothing changes no row, but would fire a statement trigger. No existing slot row can be missed:
// one that is newer than the transaction's snapshot has been met by then (newerslots.go), and no
// other can be created while the lock is held.
func (r *Run) nothingToFold(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	if !r.conn.Shared.Traits.StatementTriggers || !d.Table.Triggers.Update || d.Look.Held == nil {
		return false, nil
	}
	found, err := r.find(ctx, d.Look.Held)
	return err == nil && len(found) == 0, err
}

// lockByTransaction returns a drain with the lock that its transaction needs. One that slotsql has
// begun, because a try has shown that the row has slots, holds no other lock that anybody could
// wait for. So its lock may wait for sessions that only refer to the row, and for increments in
// slots.
func (r *Run) lockByTransaction(d rewrite.DrainTable) rewrite.DrainTable {
	if d.LockAlone != nil && r.Plan.Drain.Proof != nil && r.conn.Tx.Own() {
		d.Lock = d.LockAlone
	}
	return d
}

// explainOutdated adds an explanation to an error for which the drain would be planned again, had
// it not ended the application's transaction.
func (r *Run) explainOutdated(d *rewrite.DrainTable, err error) error {
	if err == nil || !r.conn.Engine.SchemaChanged(err) || r.conn.InAutocommit() {
		return err
	}
	// It was slotsql's own statement, so the facts are certainly out of date. The retry must not
	// use them, however long reading the catalog takes.
	r.conn.Catalog.Expire()
	return fmt.Errorf("slotsql: the columns of slot table %q have changed; retry the transaction: %w", d.Table.Counter.SlotTable.Name, err)
}

// cleanUp runs the statements that follow the application's own after one of them has failed.
// MySQL's TRUNCATE runs between LOCK TABLES and UNLOCK TABLES, which no rollback undoes, and
// without the slot table's foreign key. Each statement is harmless if it has nothing to do, and
// the ones after a failed one are still needed.
func (r *Run) cleanUp(ctx context.Context, err error) {
	if err == nil || !r.cleanUpDue {
		return
	}
	r.cleanUpDue = false
	for i := range r.Plan.Drain.After {
		_ = r.conn.Discard(context.WithoutCancel(ctx), r.sql(&r.Plan.Drain.After[i]), nil)
	}
}

// steps runs statements whose rows, if any, do not matter.
func (r *Run) steps(ctx context.Context, list []rewrite.Bound) error {
	for i := range list {
		if _, err := r.step(ctx, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// step runs one, and returns the number of rows affected: 0 if the parent does not tell.
func (r *Run) step(ctx context.Context, b *rewrite.Bound) (int64, error) {
	args, err := r.bind(b.Args)
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

// draining is the state of an execution that drains: what has happened so far, in the order of
// drainAndRun. None of these facts excludes another, and each is read in one place.
type draining struct {
	cause drainCause // of a drain that the plan has no reason for
	// folded: a drain has found slots. addedToBase: it has added something to base rows.
	folded, addedToBase bool
	// ofChanges: it drains rows that its transaction has changed.
	ofChanges bool
	// found is how many rows the drain has locked by their keys. recounted is how many a DELETE
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

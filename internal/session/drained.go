package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A drain: rows are locked, their slots folded into them, and the application's
// own statement runs on what is then there, in one transaction.

func (r *Run) runDrained(ctx context.Context) (answer, error) {
	if !r.hasAllArgs() {
		return r.send(ctx)
	}
	if r.Plan.Drain.Outside {
		return r.runOutside(ctx)
	}
	if misplaced, err := r.lacksTransaction(ctx); err != nil {
		return answer{}, err
	} else if misplaced {
		return r.send(ctx)
	}
	if r.recalls() {
		return r.retrying(ctx, r.drainAndRun)
	}
	if a, done, err := r.runProven(ctx); done || err != nil {
		return a, err
	}
	if r.Plan.Drain.FoldOptional {
		return r.runOptional(ctx)
	}
	if may, err := r.byViewAlone(ctx); err != nil {
		return answer{}, err
	} else if may {
		if a, err := r.runByView(ctx); err != errGranted {
			return a, err
		}
	}
	if may, err := r.inReadOnlyTx(ctx); err != nil {
		return answer{}, err
	} else if may {
		return r.runReadOnly(ctx, nil)
	}
	a, err := r.retrying(ctx, r.drainAndRun)
	if err != nil && !r.conn.Broken && (!r.conn.Tx.LastKnownOpen() || r.onReadOnlyServer(err)) && r.readsOnly(err) {
		return r.runReadOnly(ctx, err)
	}
	if err == nil && r.call.wantsRows {
		r.noteReturned(a.rows)
	}
	return a, err
}

// lacksTransaction reports whether the engine refuses the statement for being outside a transaction:
// in one of slotsql's own it would succeed, with a lock or a cursor that ends at once.
func (r *Run) lacksTransaction(ctx context.Context) (bool, error) {
	if !r.Plan.Drain.Inside {
		return false, nil
	}
	open, err := r.conn.InTransaction(ctx)
	return !open, err
}

// runOutside runs a statement that the engine takes outside of transactions only, after
// a drain of its own. Slots that have come between the two are referenced rows to
// the engine, which then refuses the statement: nothing of them is lost. In a
// transaction the statement fails as it does with the plain driver.
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
	if !r.call.wantsRows {
		r.guessCandidates(ctx)
	}
	end, err := r.conn.BeginOwn(ctx)
	if err != nil {
		return answer{}, err
	}
	missed, err := r.drain(ctx)
	if err != nil {
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
	if err == nil && stream {
		return answer{rows: r.endingWith(ctx, a.rows, end)}, nil
	}
	if err := r.finish(ctx, err, end); err != nil {
		return answer{}, err
	}
	if unlocked { // a row inserted since the drain is only changed
		r.note(r.Plan.Increment.Row, onBase)
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

// finish runs what follows a statement that has run after a drain, or failed, and ends the drain's
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

// unapplied lets the parent's word stand that a connection is to be replaced
// (driver.ErrBadConn, as go-sql-driver says with rejectReadOnly=true after a
// failover), when nothing of the application's has been run, or its own statement has not
// been applied: what the drain has done is gone with the transaction, and would
// have changed no total. Statements whose effect is outside of a transaction are
// another matter.
func (r *Run) unapplied(err error) error {
	if err == nil || !errors.Is(err, driver.ErrBadConn) || r.partsStay || len(r.Plan.Drain.Before) > 0 ||
		r.Plan.Effects&(rewrite.SchemaChange|rewrite.TxControl) != 0 {
		return err
	}
	return link.Unapplied(err)
}

// drain locks and folds, and runs what has to come before the statement. Missed
// reports whether there was no row to lock, or fewer than the statement may meet.
func (r *Run) drain(ctx context.Context) (missed bool, err error) {
	r.conn.Drain.Begin()
	if err := r.learnGrants(ctx); err != nil {
		return false, err
	}
	for _, d := range r.Plan.Drain.Tables {
		d = r.lockByRights(r.lockByTransaction(r.rowsToDrain(d)))
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

// drainTable locks and folds rows of one table. Open reports whether the statement may meet
// others.
func (r *Run) drainTable(ctx context.Context, d *rewrite.DrainTable) (open bool, err error) {
	r.conn.drainsCounted(d.Table, r.keyNumbers(d))
	r.foldsPortions(d)
	if d.Look.Candidates != nil {
		return true, r.explainOutdated(d, r.drainCandidates(ctx, d))
	}
	l, err := r.lookOrLock(ctx, d)
	if err != nil {
		return false, r.explainDenied(d, r.explainOutdated(d, err))
	}
	if !l.bare || !r.ofChanges {
		r.Plan.tally.drained()
	}
	if d.Table.Counter.Options.OnDrain == rewrite.OnDrainWarn {
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
	return l.open, r.explainOutdated(d, err)
}

// lockByTransaction returns a drain with the lock for its transaction. One that slotsql has opened because the statement's row has
// slots, as the try without a drain has shown, has no other lock that anybody could wait for: it may wait for those who
// only refer to the row, and for increments in slots before it has the row.
func (r *Run) lockByTransaction(d rewrite.DrainTable) rewrite.DrainTable {
	if d.LockAlone != nil && r.Plan.Drain.Proof != nil && r.conn.Tx.Own() {
		d.Lock = d.LockAlone
	}
	return d
}

// explainOutdated explains an error that ends a transaction in which the drain would
// otherwise be planned again.
func (r *Run) explainOutdated(d *rewrite.DrainTable, err error) error {
	if err == nil || !r.conn.Engine.SchemaChanged(err) || r.conn.InAutocommit() {
		return err
	}
	// It was slotsql's own statement, so the facts are certainly out of date: the
	// retry must not meet them, however long a look at the catalog takes.
	r.conn.Catalog.Expire()
	return fmt.Errorf("slotsql: the columns of slot table %q have changed; retry the transaction: %w", d.Table.Counter.SlotTable.Name, err)
}

// cleanUp runs what follows the statement when it, or one of those around
// it, has failed: MySQL's TRUNCATE stands between LOCK TABLES and UNLOCK TABLES,
// which no rollback undoes, and without the slot table's foreign key. Each is
// harmless where there is nothing for it to do, and those behind one that fails
// are needed, too.
func (r *Run) cleanUp(ctx context.Context, err error) {
	if err == nil || !r.cleanUpDue {
		return
	}
	r.cleanUpDue = false
	for i := range r.Plan.Drain.After {
		_ = r.conn.Discard(context.WithoutCancel(ctx), r.sql(&r.Plan.Drain.After[i]), nil)
	}
}

// steps runs statements whose rows, if they return any, are of no interest.
func (r *Run) steps(ctx context.Context, list []rewrite.Bound) error {
	for i := range list {
		if _, err := r.step(ctx, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// step returns the rows affected, 0 where the parent does not tell.
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

// draining is what an execution that drains has found out. These are facts about what has
// happened so far, each read in one other place; none excludes another, and the order of
// events is that of drainAndRun, which ends with the execution.
type draining struct {
	cause drainCause // of a drain that the plan has no reason for
	// candidates are the rows that are drained for a counter's condition; nil where others are.
	candidates *candidateRows
	// folded: a drain has not found its rows bare, and addedToBase: it has added something to base rows.
	folded, addedToBase bool
	// ofChanges: it drains rows that its transaction has changed.
	ofChanges bool
	// found is how many rows the drain has locked by their keys, and recounted how many a
	// DELETE has then been found to be about, for which it has run again.
	found, recounted int
	// rowAppeared: the statement has met a row that its drain did not find.
	rowAppeared bool
	// first is the application's query where it has taken the drain's lock itself.
	first lockingRead
	// ahead is what another session has been asked before the lock statement was sent; nil for nothing.
	ahead *aheadAnswer
	// cleanUpDue: Before has run, and the statements of After are needed even if the
	// application's own one fails.
	cleanUpDue bool
	// ungranted is what has to be granted before the session's user may move slots
	// into base rows of the plan's tables; nil where it may.
	ungranted []string
}

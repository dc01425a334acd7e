package session

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A drain locks its row, but a row that does not exist cannot be locked: at READ COMMITTED another
// transaction may insert it, and others add to its slots, before the application's own SQL runs.
// That then touches a row that has not been drained. So if the lock has found no row, the
// statement runs under a savepoint. If it touches a row, everything is rolled back to the
// savepoint and starts again, now with a row to lock. If it touches none, it may still have looked
// at a row that exists by now: that row is locked, and if there is something to fold, the
// statement runs again.
//
// The same goes for all rows of a table whose drain locks each of them (DrainTable.Open).
//
// For some statements the number of rows touched says nothing: an INSERT touches its own new
// rows, which have no slots; one with a list of keys touches rows that the drain has locked; a
// query may return rows that stand for none, and so may a statement that changes its rows in a WITH
// query. For these, and for an upsert increment, only the second look counts. For a DELETE that look
// cannot find the rows that are gone, so rows are counted: those that it has deleted and those that
// are left must be as many as the drain has locked. What a WITH query has deleted is not counted, so
// such a statement runs again until it gives the same number twice.

const (
	savepoint         = "SAVEPOINT slotsql_missing"
	rollbackSavepoint = "ROLLBACK TO SAVEPOINT slotsql_missing"
	releaseSavepoint  = "RELEASE SAVEPOINT slotsql_missing"
)

// lockOfKey reports whether the drain locks the rows of a key, and the statement inserts none of
// them.
func lockOfKey(d *rewrite.DrainTable) bool { return d.Keyed && d.New == nil && len(d.Lock) > 0 }

// lockKey runs the lock statements of a key's drain, and returns the rows found; nil for none.
func (dr *drain) lockKey(ctx context.Context, d *rewrite.DrainTable) (locked [][]any, err error) {
	if locked, err = dr.run.find(ctx, &d.Lock[0]); err != nil || len(locked) == 0 {
		return nil, err
	}
	return locked, dr.run.steps(ctx, d.Lock[1:])
}

// find runs a lock statement, which returns rows, or a sum over rows: NULL means that there are
// none.
func (r *Run) find(ctx context.Context, lock *rewrite.Bound) ([][]any, error) {
	args, err := r.bind(lock.Args, nil)
	if err != nil {
		return nil, err
	}
	var rows driver.Rows
	if via := (direct{r.conn}); via.keeps(args) {
		rows, err = via.queryKept(ctx, r.sql(lock), args)
	} else {
		rows, err = r.conn.ParentQuery(ctx, r.sql(lock), args)
	}
	if err != nil {
		return nil, err
	}
	all, err := link.Collect(rows)
	if err != nil || len(all) == 0 || all[0][0] == nil {
		return nil, err
	}
	return all, nil
}

// foldAppeared reports whether the statement has to run again: there is now a row with slots that
// the drain has missed, whose slots it folds, or the statement may have deleted one.
func (dr *drain) foldAppeared(ctx context.Context, touched int64) (again bool, err error) {
	for i := range dr.form.Tables {
		d := dr.run.rowsToDrain(dr.form.Tables[i])
		if again, err := dr.foldAppearedIn(ctx, &d, touched); again || err != nil {
			return again, err
		}
	}
	return false, nil
}

// foldAppearedIn is foldAppeared for one table.
func (dr *drain) foldAppearedIn(ctx context.Context, d *rewrite.DrainTable, touched int64) (again bool, err error) {
	deleted := 0
	if dr.form.Deletes {
		deleted = int(touched)
	}
	all := dr.meetsOthers(d)
	if all && deleted == 0 {
		// No row that the drain has locked has slots: any slots found now belong to other rows.
		moved, err := dr.foldNamed(ctx, d, nil)
		return moved > 0, err
	}
	if !lockOfKey(d) && !MayInsert(*d) && !all {
		return false, nil
	}
	locked, err := dr.run.find(ctx, &d.Lock[0])
	if err != nil {
		return false, err
	}
	if n := rowsOf(locked) + deleted; deleted > 0 && n != dr.found && n != dr.recounted {
		dr.recounted = n
		return true, nil
	}
	if len(locked) == 0 && !all {
		return false, nil
	}
	if idle, err := dr.nothingToFold(ctx, d); idle || err != nil {
		return false, err
	}
	if d.Folding == rewrite.FoldByName {
		moved, err := dr.foldNamed(ctx, d, locked)
		return moved > 0, err
	}
	return dr.foldAny(ctx, d)
}

// foldAny runs the statements of a fold until one of them affects a row, and reports whether one has.
func (dr *drain) foldAny(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	for i := range d.Fold {
		args, err := dr.run.bind(d.Fold[i].Args, nil)
		if err != nil {
			return false, err
		}
		res, err := dr.conn.ParentExec(ctx, dr.run.sql(&d.Fold[i]), args)
		if err != nil {
			return false, err
		}
		if n, err := res.RowsAffected(); n > 0 || err != nil {
			return true, link.Settled(err)
		}
	}
	return false, nil
}

// runUnderSavepoint runs the application's own statement after a drain; run returns how many rows
// it has touched. Missed reports whether the drain has found no row to lock: without it no
// savepoint is set.
func (dr *drain) runUnderSavepoint(ctx context.Context, missed bool, run func() (int64, error)) error {
	dr.conn.Tx.TakeSnapshot()
	for runs := 0; missed; runs++ {
		if runs == maxReruns {
			return &link.NotMovedError{Table: dr.run.Plan.Tables[0], Reason: "rows are inserted and counted faster than the statement runs;" +
				" name the keys in WHERE, or run it at REPEATABLE READ"}
		}
		if err := dr.run.exec(ctx, savepoint); err != nil {
			return err
		}
		touched, err := run()
		if err != nil {
			return err
		}
		rerun := touched > 0 && dr.run.Plan.Class != rewrite.Upsert && !touchesOthers(dr.form)
		if !rerun {
			rerun, err = dr.foldAppeared(ctx, touched)
		}
		if err == nil && !rerun {
			return dr.run.exec(ctx, releaseSavepoint)
		}
		if uerr := dr.run.exec(ctx, rollbackSavepoint); uerr != nil {
			// The statement has taken effect, and its result is not known, unless the transaction
			// is gone.
			if !dr.conn.Engine.TxEnded(uerr) && (err == nil || !dr.conn.Engine.TxEnded(err)) {
				dr.conn.Drain.Fail()
			}
			if err == nil {
				err = uerr
			}
		}
		if err != nil {
			return err
		}
		dr.rowAppeared = true
		if missed, err = dr.drain(ctx); err != nil {
			return err
		}
	}
	_, err := run()
	return err
}

// maxReruns bounds how often a statement is run again because others have inserted rows.
const maxReruns = 50

// touchesOthers reports whether the statement may touch other rows than those that the drain has
// missed.
func touchesOthers(p *rewrite.DrainPlan) bool {
	return p.Uncounted || slices.ContainsFunc(p.Tables, func(d rewrite.DrainTable) bool { return MayInsert(d) || d.Open || d.Most > 1 })
}

func (r *Run) exec(ctx context.Context, query string) error {
	_, err := r.conn.ParentExec(ctx, query, nil)
	return err
}

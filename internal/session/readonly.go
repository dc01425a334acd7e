package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A drain writes, so it fails where nothing may be written: in a READ ONLY transaction, in a read-only session, on a replica, in a
// database opened for reading. The statement that it is for may only read, through a view or a routine, and plain would run it. So
// it runs as it is where all its queries see one snapshot that shows no slots: base values are the totals there. Otherwise it
// fails with the engine's error, and the error says what to do.

// unwritable is an execution that drains where it may not write, or not everything.
type unwritable struct {
	run  *Run
	conn *Conn
	form *rewrite.DrainPlan // what it drains
}

// isInReadOnlyTx reports whether the open transaction is READ ONLY, on an engine where the error of a drain would end it.
func (uw unwritable) isInReadOnlyTx(ctx context.Context) (bool, error) {
	c := uw.conn
	w, ok := c.Shared.Dialect.(dialect.ReadOnlyWatcher)
	if !ok || !c.readOnly && !(c.Rare.Any(link.TxOpen) && w.ConnReadOnly(c.Parent)) {
		return false, nil
	}
	if open, err := c.InTransaction(ctx); err != nil || !open {
		return false, err
	}
	answer, err := c.Session().Query(ctx, w.ReadOnlyQuery())
	if err != nil || len(answer) == 0 {
		return false, c.Lost(err)
	}
	return link.TextOf(answer[0][0]) == "on", nil
}

// refused runs the statement in a READ ONLY transaction, or has the engine refuse it at once: a drain would wait for others
// before it is refused. It reports false if the transaction may write, or there is none.
func (uw unwritable) refused(ctx context.Context) (a answer, done bool, err error) {
	if readOnly, err := uw.isInReadOnlyTx(ctx); err != nil || !readOnly {
		return answer{}, false, err
	}
	if a, done, err = uw.runInSnapshot(ctx); done || err != nil {
		return a, done, err
	}
	w, t := uw.conn.Shared.Dialect.(dialect.ReadOnlyWatcher), uw.form.Tables[0].Table
	return answer{}, true, uw.explainReadOnly(t, uw.run.exec(ctx, w.Refused(t)))
}

// runInSnapshot runs the statement in a snapshot that shows no slots: that of the application's transaction, or one of its own. It
// reports false if there is none.
func (uw unwritable) runInSnapshot(ctx context.Context) (a answer, done bool, err error) {
	c := uw.conn
	d, ok := c.Shared.Dialect.(dialect.ReadOnlyReader)
	if !ok || len(uw.form.Before)+len(uw.form.After) > 0 {
		return answer{}, false, nil
	}
	if !c.Shared.Dialect.Drain().Nested { // any transaction of SQLite's has one snapshot
		open, err := c.InTransaction(ctx)
		if err != nil {
			return answer{}, false, err
		}
		if open {
			if has, err := d.HasSnapshot(ctx, c.Session()); err != nil || !has {
				return answer{}, false, c.Lost(err)
			}
		}
	}
	end, err := c.BeginOwnAs(ctx, d.ReadTx())
	if err != nil {
		return answer{}, false, err
	}
	none, err := uw.showsNone(ctx, d)
	if err != nil || !none {
		return answer{}, false, end(err)
	}
	a, _, err = uw.run.sendCounted(ctx)
	return a, true, end(err)
}

// showsNone reports whether the tables have no slots in the snapshot.
func (uw unwritable) showsNone(ctx context.Context, d dialect.ReadOnlyReader) (bool, error) {
	for i := range uw.form.Tables {
		for _, query := range d.Shows(uw.form.Tables[i].Table) {
			some, err := uw.conn.Session().Query(ctx, query)
			if err != nil || len(some) > 0 {
				return false, err
			}
		}
	}
	return true, nil
}

// databaseError returns the database's own error of a fold, without what a NotMovedError supposes of its cause.
func databaseError(err error) error {
	if moved := (*link.NotMovedError)(nil); errors.As(err, &moved) {
		return moved.Err
	}
	return err
}

// explainReadOnly explains why a drain was refused.
func (uw unwritable) explainReadOnly(t *schema.Table, err error) error {
	if !uw.run.conn.Engine.ReadOnly(err) {
		return err
	}
	err = databaseError(err)
	return fmt.Errorf(
		"slotsql: table %q has increments in slots, and nothing may be written here to move them into its rows: select from the table itself, "+
			"or run the statement outside the READ ONLY transaction, or at REPEATABLE READ once the slots are rolled up: %w",
		t.Name, err,
	)
}

package session

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement that would drain all rows of a table runs as it is if the table has no slots, and locks nothing but what plain locks
// (rewrite/asleep.go). Each dialect's Asleep says why that is exact. If there are slots nothing has been done, or all of it is
// undone, and the drain follows.

// errAwake is that there are slots, or may be some.
var errAwake = errors.New("slotsql: the table has slots")

const (
	asleepSavepoint = "SAVEPOINT slotsql_asleep"
	asleepRollback  = "ROLLBACK TO SAVEPOINT slotsql_asleep"
	asleepRelease   = "RELEASE SAVEPOINT slotsql_asleep"
)

// maySleep reports whether the statement may run so: on a single server, whose locks are all there are, in a transaction that
// has no slots of its own, and not just after there were some.
func (sl slotless) maySleep() bool {
	c := sl.conn
	if sl.form.Asleep == nil || len(sl.run.call.options) > 0 || sl.run.partsStay || c.Cluster || c.Tx.Own() || c.snapshotHeld() {
		return false
	}
	for i := range sl.form.Tables {
		t := sl.form.Tables[i].Table
		if t.Counter.Options.OnDrain != schema.OnDrainRun || c.addedToSlots(t) {
			return false
		}
	}
	return sl.run.Plan.asleep.due()
}

// snapshotHeld reports whether the transaction has been begun at a level at which a statement of PostgreSQL's does not see the
// newest slots.
func (c *Conn) snapshotHeld() bool { return c.namer() == nil && c.snapshotBegun() }

// whileAsleep runs the statement if its tables have no slots. It reports false if nothing has been done.
func whileAsleep(ctx context.Context, r *Run) (answer, bool, error) {
	sl := slotlessOf(r)
	if !sl.maySleep() {
		return answer{}, false, nil
	}
	if readOnly, err := (unwritable{r, r.conn, sl.form}).isInReadOnlyTx(ctx); err != nil || readOnly {
		return answer{}, false, err
	}
	a, err := r.runWithRetries(ctx, sl.sendAsleep)
	r.Plan.asleep.note(err != errAwake)
	if err == errAwake && !r.conn.Rare.Any(link.Broken) {
		return answer{}, false, nil
	}
	r.Plan.tally.cold.Add(1)
	return a, true, err
}

// sendAsleep sends the statement and what is around it. It returns errAwake if nothing has been done.
func (sl slotless) sendAsleep(ctx context.Context) (a answer, err error) {
	if a, err = sl.pipelineAsleep(ctx); err != driver.ErrSkip {
		return a, err
	}
	end, err := sl.conn.BeginOwn(ctx)
	if err != nil {
		return answer{}, err
	}
	if sl.form.Asleep.Check != nil {
		err = sl.undoable(ctx, func() (err error) { a, err = sl.sendChecked(ctx); return err })
		return a, end(err)
	}
	var here string
	if err = sl.undoable(ctx, func() (err error) { here, err = sl.keepAsleep(ctx); return err }); err != nil {
		return answer{}, end(err)
	}
	if here != "" {
		a, err = sl.sendBetween(ctx, here)
		return a, end(err)
	}
	sl.conn.Tx.TakeSnapshot()
	stream := sl.run.call.wantsRows && sl.conn.Tx.Own() && !sl.conn.Shared.Dialect.Drain().Nested
	if rowChangesOf(sl.run).noteDrained(sl.form.Tables); stream {
		a, err = sl.run.send(ctx)
	} else {
		a, _, err = sl.run.sendCounted(ctx)
	}
	if err == nil && stream {
		return answer{rows: sl.run.drainOf(sl.form).endingWith(ctx, a.rows, end)}, nil
	}
	return a, end(sl.run.unapplied(err))
}

// sendBetween sends the statement, and asks once more whether there are slots. Here is the server that has been asked before.
func (sl slotless) sendBetween(ctx context.Context, here string) (a answer, err error) {
	err = sl.underSavepoint(ctx, func() error {
		if a, _, err = sl.run.sendCounted(ctx); err != nil {
			return sl.run.unapplied(err)
		}
		if !sl.stillAsleep(ctx, here) {
			return errAwake
		}
		return nil
	})
	return a, err
}

// stillAsleep reports whether there are certainly no slots, now that the session has locked the statement's rows.
func (sl slotless) stillAsleep(ctx context.Context, here string) bool {
	form, ask := sl.form.Asleep, sl.conn.Session().Query
	if form.Deletes {
		ask = func(ctx context.Context, q string, _ ...any) ([][]any, error) { return sl.run.askAnother(ctx, q, nil) }
	}
	rows, err := ask(ctx, sl.run.sql(form.After))
	return err == nil && len(rows) == 1 && link.TextOf(rows[0][0]) == "0" && link.TextOf(rows[0][2]) == here
}

// undoable runs f under a savepoint if it is in the application's transaction, and an error would abort that.
func (sl slotless) undoable(ctx context.Context, f func() error) error {
	if !sl.conn.Shared.Traits.ErrorAborts {
		return f()
	}
	return sl.underSavepoint(ctx, f)
}

// underSavepoint runs f, and undoes it if it returns errAwake: in the application's transaction by a savepoint.
func (sl slotless) underSavepoint(ctx context.Context, f func() error) error {
	if sl.conn.Tx.Own() {
		return f()
	}
	if err := sl.run.exec(ctx, asleepSavepoint); err != nil {
		return err
	}
	switch err := f(); err {
	case errAwake:
		return sl.wake(ctx)
	case nil:
		return sl.run.exec(ctx, asleepRelease)
	default:
		return err
	}
}

// wake undoes what has been done in the application's transaction.
func (sl slotless) wake(ctx context.Context) error {
	err := sl.run.exec(ctx, asleepRollback)
	if err == nil {
		err = sl.run.exec(ctx, asleepRelease)
	}
	if err != nil {
		return err
	}
	return errAwake
}

// keepAsleep keeps slots from being created, and returns errAwake if there are some. If the isolation level does not let it keep
// them, it returns the server that has been asked, and the statement has to be asked about behind it as well.
func (sl slotless) keepAsleep(ctx context.Context) (here string, _ error) {
	form := sl.form.Asleep
	for i := range sl.form.Tables {
		if sl.othersFindSlots(ctx, sl.form.Tables[i].Table) {
			return "", errAwake
		}
	}
	for i := range form.Before {
		c := sl.conn
		rows, err := sl.askBefore(ctx, sl.run.sql(&form.Before[i]))
		switch {
		case err == nil:
		case c.Tx.Own() && !c.Engine.Conflict(err) && !c.Engine.LockTimeout(err) && link.Settled(err) == err,
			c.Engine.ReadOnly(err), sl.run.isDenied(err):
			return "", errAwake // where the session may only read, say
		default:
			return "", sl.awakeIf(err)
		}
		switch awake, kept := sl.tellsAwake(rows); {
		case awake, !kept && form.After == nil:
			return "", errAwake
		case !kept:
			here = link.TextOf(rows[0][2])
		}
	}
	return here, nil
}

// askBefore runs a query of Before. It is kept prepared where the parent would parse it each time: on SQLite that takes as long as the
// rest of it.
func (sl slotless) askBefore(ctx context.Context, query string) ([][]any, error) {
	if sl.conn.Shared.Traits.SlowParse {
		rows, err := direct{sl.conn}.queryKept(ctx, query, nil)
		if err != nil {
			return nil, err
		}
		return link.Collect(rows)
	}
	return sl.conn.Session().Query(ctx, query)
}

// othersFindSlots reports whether another session finds slots of a table, where this one would keep locked those that it finds until
// the application's transaction ends: a drain locks base rows first, and the two would wait for each other.
func (sl slotless) othersFindSlots(ctx context.Context, t *schema.Table) bool {
	c := sl.conn
	n, sleeps := c.namer(), c.Dialect().(rewrite.SleepingDialect)
	if n == nil || c.Tx.Own() || c.InAutocommit() {
		return false
	}
	rows, err := sl.run.askAnother(ctx, sleeps.Awake(t, false), nil)
	return err == nil && len(rows) > 0 && link.TextOf(rows[0][0]) != "0"
}

// tellsAwake judges the answer of a query for slots. If the query locks a gap that keeps slots from being created, it returns the
// session's level as well. Kept is false at READ COMMITTED, where there is no such lock.
func (sl slotless) tellsAwake(rows [][]any) (awake, kept bool) {
	if len(rows) == 0 {
		return false, true
	}
	row, n := rows[0], sl.conn.namer()
	if n == nil || link.TextOf(row[0]) != "0" {
		return true, true
	}
	level := sl.conn.isolation(link.TextOf(row[1]))
	kept = n.GapLocks(level)
	return !kept && level != "READ-COMMITTED", kept
}

// sendChecked runs the statement with its condition, which is asked before it and after it as well.
func (sl slotless) sendChecked(ctx context.Context) (a answer, err error) {
	form := sl.form.Asleep
	check := sl.run.sql(form.Check)
	c, err := sl.run.sqlCall()
	if err != nil {
		return answer{}, err
	}
	if err := sl.conn.Discard(ctx, check, nil); err != nil {
		return answer{}, sl.awakeIf(err)
	}
	if c.wantsRows {
		a.rows, err = sl.run.sender.queryBound(ctx, &form.Checked, sl.run.sql(&form.Checked), c.args)
	} else {
		a.result, err = sl.run.sender.execBound(ctx, &form.Checked, sl.run.sql(&form.Checked), c.args)
	}
	if err == nil {
		a, _, err = a.counted()
	}
	if err != nil {
		return answer{}, sl.awakeIf(sl.run.unapplied(err))
	}
	if b, ok := a.rows.(*bufferedRows); ok && sl.conn.Engine.Pipeliner != nil {
		sl.run.Plan.asleep.types.Store(&b.columnTypes)
	}
	return a, sl.awakeIf(sl.conn.Discard(ctx, check, nil))
}

// awakeIf returns errAwake for an error that a statement may have raised because there are slots.
func (sl slotless) awakeIf(err error) error {
	if err != nil && sl.conn.Engine.Refuted(err) {
		return errAwake
	}
	return err
}

// pipelineAsleep is sendAsleep in one round trip; driver.ErrSkip where there is none.
func (sl slotless) pipelineAsleep(ctx context.Context) (answer, error) {
	form := sl.form.Asleep
	if form.Check == nil || sl.conn.Engine.Pipeliner == nil {
		return answer{}, driver.ErrSkip
	}
	if types := sl.run.Plan.asleep.types.Load(); sl.run.call.wantsRows && (types == nil || !sl.decodes(*types)) {
		return answer{}, driver.ErrSkip
	}
	c, err := sl.run.sqlCall()
	if err != nil {
		return answer{}, err
	}
	check := dialect.Statement{SQL: sl.run.sql(form.Check)}
	list, at := []dialect.Statement{check, {SQL: sl.run.sql(&form.Checked), Args: c.args}, check}, 1
	inTx := !sl.conn.InAutocommit()
	if inTx {
		list, at = append(append([]dialect.Statement{{SQL: asleepSavepoint}}, list...), dialect.Statement{SQL: asleepRelease}), 2
	}
	out, err := sl.conn.Engine.Pipeliner.Pipeline(ctx, sl.conn.Parent, list)
	if err = sl.awakeIf(err); err == errAwake && inTx {
		err = sl.wake(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	return sl.run.answerOf(&out[at], sl.run.Plan.asleep.types.Load()), nil
}

// asleepFor reports whether a table has no slots, of which the statement changes rows that are not named by key. The locks of
// these changes keep others from creating slots of the rows, or the query does, so they have none until the transaction ends.
func (sl slotless) asleepFor(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	c, t := sl.conn, d.Table
	sleeps, ok := c.Dialect().(rewrite.SleepingDialect)
	if !ok || d.Keyed || sl.run.Plan.Base.Shares || !c.keepsSlotless(t) || c.Cluster || c.Rare.Any(link.RoleSet) || c.snapshotHeld() ||
		len(t.Counter.Rights.Ungranted) > 0 || t.IsView || c.addedToSlots(t) {
		return false, nil
	}
	if sl.othersFindSlots(ctx, t) {
		return false, nil
	}
	rows, err := c.Session().Query(ctx, sleeps.Awake(t, true))
	awake, _ := sl.tellsAwake(rows)
	return err == nil && !awake, err
}

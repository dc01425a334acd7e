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
func (r *Run) maySleep() bool {
	c := r.conn
	if r.Plan.Drain.Asleep == nil || len(r.call.options) > 0 || r.partsStay || c.Cluster || c.Tx.Own() || c.snapshotHeld() {
		return false
	}
	for i := range r.Plan.Drain.Tables {
		t := r.Plan.Drain.Tables[i].Table
		if t.Counter.Options.OnDrain != schema.OnDrainRun || c.addedToSlots(t) {
			return false
		}
	}
	return r.Plan.asleep.due()
}

// snapshotHeld reports whether the transaction has been begun at a level at which a statement of PostgreSQL's does not see the
// newest slots.
func (c *Conn) snapshotHeld() bool { return c.namer() == nil && c.snapshotBegun() }

// runAsleep runs the statement if its tables have no slots. It reports false if nothing has been done.
func (r *Run) runAsleep(ctx context.Context) (answer, bool, error) {
	if !r.maySleep() {
		return answer{}, false, nil
	}
	a, err := r.runWithRetries(ctx, r.sendAsleep)
	r.Plan.asleep.note(err != errAwake)
	if err == errAwake && !r.conn.Broken {
		return answer{}, false, nil
	}
	r.Plan.tally.drained()
	return a, true, err
}

// sendAsleep sends the statement and what is around it. It returns errAwake if nothing has been done.
func (r *Run) sendAsleep(ctx context.Context) (a answer, err error) {
	if a, err = r.pipelineAsleep(ctx); err != driver.ErrSkip {
		return a, err
	}
	end, err := r.conn.BeginOwn(ctx)
	if err != nil {
		return answer{}, err
	}
	if r.Plan.Drain.Asleep.Check != nil {
		err = r.undoable(ctx, func() (err error) { a, err = r.sendChecked(ctx); return err })
		return a, end(err)
	}
	var here string
	if err = r.undoable(ctx, func() (err error) { here, err = r.keepAsleep(ctx); return err }); err != nil {
		return answer{}, end(err)
	}
	if here != "" {
		a, err = r.sendBetween(ctx, here)
		return a, end(err)
	}
	r.conn.Tx.TakeSnapshot()
	stream := r.call.wantsRows && r.conn.Tx.Own() && !r.conn.Shared.Dialect.Drain().Nested
	if r.noteDrained(); stream {
		a, err = r.send(ctx)
	} else {
		a, _, err = r.sendCounted(ctx)
	}
	if err == nil && stream {
		return answer{rows: r.endingWith(ctx, a.rows, end)}, nil
	}
	return a, end(r.unapplied(err))
}

// sendBetween sends the statement, and asks once more whether there are slots. Here is the server that has been asked before.
func (r *Run) sendBetween(ctx context.Context, here string) (a answer, err error) {
	err = r.underSavepoint(ctx, func() error {
		if a, _, err = r.sendCounted(ctx); err != nil {
			return r.unapplied(err)
		}
		if !r.stillAsleep(ctx, here) {
			return errAwake
		}
		return nil
	})
	return a, err
}

// stillAsleep reports whether there are certainly no slots, now that the session has locked the statement's rows.
func (r *Run) stillAsleep(ctx context.Context, here string) bool {
	form, ask := r.Plan.Drain.Asleep, r.conn.Session().Query
	if form.Deletes {
		ask = func(ctx context.Context, q string, _ ...any) ([][]any, error) { return r.askAnother(ctx, q, nil) }
	}
	rows, err := ask(ctx, r.sql(form.After))
	return err == nil && len(rows) == 1 && link.TextOf(rows[0][0]) == "0" && link.TextOf(rows[0][2]) == here
}

// undoable runs f under a savepoint if it is in the application's transaction, and an error would abort that.
func (r *Run) undoable(ctx context.Context, f func() error) error {
	if !r.conn.Shared.Traits.ErrorAborts {
		return f()
	}
	return r.underSavepoint(ctx, f)
}

// underSavepoint runs f, and undoes it if it returns errAwake: in the application's transaction by a savepoint.
func (r *Run) underSavepoint(ctx context.Context, f func() error) error {
	if r.conn.Tx.Own() {
		return f()
	}
	if err := r.exec(ctx, asleepSavepoint); err != nil {
		return err
	}
	switch err := f(); err {
	case errAwake:
		return r.wake(ctx)
	case nil:
		return r.exec(ctx, asleepRelease)
	default:
		return err
	}
}

// wake undoes what has been done in the application's transaction.
func (r *Run) wake(ctx context.Context) error {
	err := r.exec(ctx, asleepRollback)
	if err == nil {
		err = r.exec(ctx, asleepRelease)
	}
	if err != nil {
		return err
	}
	return errAwake
}

// keepAsleep keeps slots from being created, and returns errAwake if there are some. If the isolation level does not let it keep
// them, it returns the server that has been asked, and the statement has to be asked about behind it as well.
func (r *Run) keepAsleep(ctx context.Context) (here string, _ error) {
	form := r.Plan.Drain.Asleep
	for i := range r.Plan.Drain.Tables {
		if r.othersFindSlots(ctx, r.Plan.Drain.Tables[i].Table) {
			return "", errAwake
		}
	}
	for i := range form.Before {
		c := r.conn
		rows, err := r.askBefore(ctx, r.sql(&form.Before[i]))
		switch {
		case err == nil:
		case c.Tx.Own() && !c.Engine.Conflict(err) && !c.Engine.LockTimeout(err) && link.Settled(err) == err, r.isReadOnly(err), r.isDenied(err):
			return "", errAwake // where the session may only read, say
		default:
			return "", r.awakeIf(err)
		}
		switch awake, kept := r.tellsAwake(rows); {
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
func (r *Run) askBefore(ctx context.Context, query string) ([][]any, error) {
	if r.conn.Shared.Traits.SlowParse {
		rows, err := direct{r.conn}.queryKept(ctx, query, nil)
		if err != nil {
			return nil, err
		}
		return link.Collect(rows)
	}
	return r.conn.Session().Query(ctx, query)
}

// othersFindSlots reports whether another session finds slots of a table, where this one would keep locked those that it finds until
// the application's transaction ends: a drain locks base rows first, and the two would wait for each other.
func (r *Run) othersFindSlots(ctx context.Context, t *schema.Table) bool {
	c := r.conn
	n, sleeps := c.namer(), c.Dialect().(rewrite.SleepingDialect)
	if n == nil || c.Tx.Own() || c.InAutocommit() {
		return false
	}
	rows, err := r.askAnother(ctx, sleeps.Awake(t, false), nil)
	return err == nil && len(rows) > 0 && link.TextOf(rows[0][0]) != "0"
}

// tellsAwake judges the answer of a query for slots. If the query locks a gap that keeps slots from being created, it returns the
// session's level as well. Kept is false at READ COMMITTED, where there is no such lock.
func (r *Run) tellsAwake(rows [][]any) (awake, kept bool) {
	if len(rows) == 0 {
		return false, true
	}
	row, n := rows[0], r.conn.namer()
	if n == nil || link.TextOf(row[0]) != "0" {
		return true, true
	}
	level := r.conn.isolation(link.TextOf(row[1]))
	kept = n.GapLocks(level)
	return !kept && level != "READ-COMMITTED", kept
}

// sendChecked runs the statement with its condition, which is asked before it and after it as well.
func (r *Run) sendChecked(ctx context.Context) (a answer, err error) {
	form := r.Plan.Drain.Asleep
	check := r.sql(form.Check)
	c, err := r.sqlCall()
	if err != nil {
		return answer{}, err
	}
	if err := r.conn.Discard(ctx, check, nil); err != nil {
		return answer{}, r.awakeIf(err)
	}
	if c.wantsRows {
		a.rows, err = r.sender.queryBound(ctx, &form.Checked, r.sql(&form.Checked), c.args)
	} else {
		a.result, err = r.sender.execBound(ctx, &form.Checked, r.sql(&form.Checked), c.args)
	}
	if err == nil {
		a, _, err = a.counted()
	}
	if err != nil {
		return answer{}, r.awakeIf(r.unapplied(err))
	}
	if b, ok := a.rows.(*bufferedRows); ok && r.conn.Engine.Pipeliner != nil {
		r.Plan.asleep.types.Store(&b.columnTypes)
	}
	return a, r.awakeIf(r.conn.Discard(ctx, check, nil))
}

// awakeIf returns errAwake for an error that a statement may have raised because there are slots.
func (r *Run) awakeIf(err error) error {
	if err != nil && r.conn.Engine.Refuted(err) {
		return errAwake
	}
	return err
}

// pipelineAsleep is sendAsleep in one round trip; driver.ErrSkip where there is none.
func (r *Run) pipelineAsleep(ctx context.Context) (answer, error) {
	form := r.Plan.Drain.Asleep
	if form.Check == nil || r.conn.Engine.Pipeliner == nil {
		return answer{}, driver.ErrSkip
	}
	if types := r.Plan.asleep.types.Load(); r.call.wantsRows && (types == nil || !r.decodes(*types)) {
		return answer{}, driver.ErrSkip
	}
	c, err := r.sqlCall()
	if err != nil {
		return answer{}, err
	}
	check := dialect.Statement{SQL: r.sql(form.Check)}
	list, at := []dialect.Statement{check, {SQL: r.sql(&form.Checked), Args: c.args}, check}, 1
	inTx := !r.conn.InAutocommit()
	if inTx {
		list, at = append(append([]dialect.Statement{{SQL: asleepSavepoint}}, list...), dialect.Statement{SQL: asleepRelease}), 2
	}
	out, err := r.conn.Engine.Pipeliner.Pipeline(ctx, r.conn.Parent, list)
	if err = r.awakeIf(err); err == errAwake && inTx {
		err = r.wake(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	return r.answerOf(&out[at], r.Plan.asleep.types.Load()), nil
}

// asleepFor reports whether a table has no slots, of which the statement changes rows that are not named by key. The locks of
// these changes keep others from creating slots of the rows, or the query does, so they have none until the transaction ends.
func (r *Run) asleepFor(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	c, t := r.conn, d.Table
	sleeps, ok := c.Dialect().(rewrite.SleepingDialect)
	if !ok || d.Keyed || r.Plan.Base.Shares || !c.keepsBare(t) || c.Cluster || c.Origin.RoleSet() || c.snapshotHeld() ||
		len(t.Counter.Rights.Ungranted) > 0 || t.IsView || c.addedToSlots(t) {
		return false, nil
	}
	if r.othersFindSlots(ctx, t) {
		return false, nil
	}
	rows, err := c.Session().Query(ctx, sleeps.Awake(t, true))
	awake, _ := r.tellsAwake(rows)
	return err == nil && !awake, err
}

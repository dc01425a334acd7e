package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A drain writes, so it fails where the application may not write: in a READ ONLY transaction, in
// a read-only session, on a replica, in a database opened for reading. But the statement that it
// is for may only read, through a view or a routine, and then the plain driver would run it. How
// it runs here, and why that is exact, is in readonly_gaps.go for engines whose locking reads keep
// slots from being created, and in readonly_snapshot.go for others.

// inReadOnlyTx reports whether the open transaction is READ ONLY, and the statement may run in it.
func (r *Run) inReadOnlyTx(ctx context.Context) (bool, error) {
	c := r.conn
	switch w := c.Shared.Dialect.(type) {
	case dialect.ReadOnlyWatcher:
		if c.access == readWrite && !(c.Tx.KeepsLocks() && w.ConnReadOnly(c.Parent)) || !r.mayRun(true) {
			return false, nil
		}
		if open, err := c.InTransaction(ctx); err != nil || !open {
			return false, err
		}
		answer, err := r.ask(ctx, w.ReadOnlyQuery())
		return answer == "on", err
	case dialect.ReadOnlyErrorClassifier:
		if c.access != readWrite || !c.mayRefuse || !c.Tx.KeepsLocks() || !r.mayRun(true) {
			return c.access != readWrite && r.mayRun(true), nil
		}
		if open, err := c.InTransaction(ctx); err != nil || !open {
			return false, err
		}
		err := c.Session().Exec(ctx, w.ChangeNothing(r.Plan.Drain.Tables[0].Table))
		if w.ReadOnly(err) {
			return true, nil
		}
		return false, c.Lost(err)
	}
	return false, nil
}

// readsOnly reports whether err is that of a fold where nothing may be written, and the statement
// may run there.
func (r *Run) readsOnly(err error) bool {
	d, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyDetector)
	return ok && d.ReadOnly(err) && r.mayRun(false)
}

// mayRun reports whether the statement is not certain to be refused where nothing may be written.
// One that changes rows may change those of a temporary table; if the engine is known to refuse
// others (known), it is asked before locks are taken for a fold.
func (r *Run) mayRun(known bool) bool {
	switch r.conn.Shared.Dialect.(type) {
	case dialect.ReadOnlyErrorClassifier:
		if !r.conn.Shared.OpensAside {
			return false
		}
	case dialect.ReadOnlyReader:
	default:
		return false
	}
	if len(r.Plan.Drain.Before)+len(r.Plan.Drain.After) > 0 {
		return false
	}
	for _, t := range lex.Tokens(r.conn.Dialect().LexRules(), r.Plan.SQL) {
		switch strings.ToUpper(r.Plan.SQL[t.Start:t.End]) {
		case "(":
			continue
		case "SELECT", "WITH", "TABLE", "VALUES", "SET", "DO", "CALL", "EXPLAIN", "DECLARE", "EXECUTE", "COPY", "INSERT":
			return true
		case "UPDATE", "DELETE", "REPLACE", "MERGE":
			return known
		}
		break
	}
	return false
}

// runWhereReadOnly runs a statement where nothing may be written. Refused is the error of the
// fold; nil if it was not tried.
func (r *Run) runWhereReadOnly(ctx context.Context, refused error, statement func() error) error {
	if d, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyErrorClassifier); ok {
		return r.runBesideGaps(ctx, d, refused, statement)
	}
	if w, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyWatcher); ok {
		open, err := r.conn.InTransaction(ctx)
		if err != nil {
			return err
		}
		if open {
			return r.runInReadOnlyTx(ctx, w, statement)
		}
	}
	return r.runInSnapshot(ctx, refused, statement)
}

// runReadOnly runs a statement that needs a drain where nothing may be written.
func (r *Run) runReadOnly(ctx context.Context, refused error) (a answer, err error) {
	if refused == nil && r.changesDrained() {
		return r.send(ctx)
	}
	if refused == nil && r.Plan.Drain.Repeats && r.conn.Shared.Traits.ErrorAborts && r.mayLock() {
		// Unless the rows are a temporary table's PostgreSQL refuses it. Then there is nothing to wait for.
		if _, _, err := r.sendCounted(ctx); err != nil {
			return answer{}, err
		}
	}
	err = r.runWhereReadOnly(ctx, refused, func() (err error) {
		a, _, err = r.sendCounted(ctx)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return a, nil
}

// wholeTables returns an execution, on a connection of slotsql's own, that drains all rows of the
// statement's tables.
func (r *Run) wholeTables(c *Conn) *Run {
	p := &plan{Plan: &rewrite.Plan{Class: rewrite.Drain}, learned: &learned{}}
	for _, d := range r.Plan.Drain.Tables {
		p.Drain.Tables = append(p.Drain.Tables, rewrite.DrainAll(c.Shared.Dialect, d.Table))
	}
	return c.newRun(p, direct{c}, call{})
}

// bare reports whether, as the session sees them, the tables have no slots that hold anything.
func (r *Run) bare(ctx context.Context) (bool, error) {
	for _, d := range r.Plan.Drain.Tables {
		some, err := r.conn.Session().Query(ctx, rewrite.FullSlots(r.conn.Dialect(), d.Table))
		if err != nil || len(some) > 0 {
			return false, err
		}
	}
	return true, nil
}

// foundBare notes that the tables have no slots until the transaction ends.
func (r *Run) foundBare() {
	for _, d := range r.Plan.Drain.Tables {
		r.conn.bareTables = append(r.conn.bareTables, d.Table.Counter.Slotted())
	}
}

// notFolded is the error of a statement that would need a fold where nothing may be written.
func (r *Run) notFolded(refused error, advice string) error {
	return fmt.Errorf(
		"slotsql: a view or routine reads table %q, which has increments in slots, and nothing may be written here to fold them; read the table itself, or %s: %w",
		r.Plan.Drain.Tables[0].Table.Name,
		advice,
		refused,
	)
}

// notKept is the error of a statement whose tables could not be kept free of slots.
func (r *Run) notKept(err error) error {
	return fmt.Errorf(
		"slotsql: a view or routine reads table %q in a READ ONLY transaction; keeping its slots empty on another connection: %w",
		r.Plan.Drain.Tables[0].Table.Name,
		link.Settled(err),
	)
}

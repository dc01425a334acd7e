package session

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A READ ONLY transaction (MySQL) may read a view over a counter table, lock rows in share mode
// and call a routine that reads, but a drain cannot fold in it. So the slots are folded in a
// transaction on another connection, which commits. Increments may come in between, so slots are
// looked for twice: as the transaction sees them, and as they are, locked in share mode with the
// gaps between them. If neither look finds any, base values are the totals, both in the
// transaction's snapshot and outside it, and no session can create slots until it ends: the
// statement runs as it is. If an increment has come in between, or is in a snapshot older than the
// fold, the statement is tried again in a new transaction of its own; in the application's
// transaction it fails with the engine's own error. So it does below REPEATABLE READ, where gaps
// are not locked.

// maxReadOnlyTries bounds how often a statement is tried again because increments have come in
// between.
const maxReadOnlyTries = 10

// runBesideGaps runs a statement in a READ ONLY transaction, the session's or one of its own.
func (r *Run) runBesideGaps(ctx context.Context, d dialect.ReadOnlyErrorClassifier, refused error, statement func() error) error {
	open, err := r.conn.InTransaction(ctx)
	switch {
	case err != nil:
		return err
	case !open && d.ServerReadOnly(refused):
		return r.runInSnapshot(ctx, refused, statement)
	case !open:
		return r.runWithoutSlots(ctx, d, open, statement)
	case r.heldBare():
		return statement()
	}
	locks, err := r.locksGaps(ctx, d)
	switch {
	case err != nil:
		return err
	case d.ServerReadOnly(refused):
		return r.runOnReadOnlyServer(ctx, refused, locks, statement)
	case !locks && r.locksRows():
		return d.ErrReadOnly()
	case !locks:
		return r.runBesideHeld(ctx, d, statement)
	}
	return r.runWithoutSlots(ctx, d, open, statement)
}

// runWithoutSlots folds the slots on another connection, and runs a statement if the tables have no
// slots then, in the application's transaction if it is open. Otherwise it tries again, in a new
// transaction each time.
func (r *Run) runWithoutSlots(ctx context.Context, d dialect.ReadOnlyErrorClassifier, open bool, statement func() error) error {
	for tries := 0; ; tries++ {
		if err := r.foldAside(ctx); err != nil {
			if open && d.ServerReadOnly(err) {
				return r.runOnReadOnlyServer(ctx, err, true, statement)
			}
			return err
		}
		if !open {
			if err := r.exec(ctx, d.NextRepeatableRead()); err != nil {
				return err
			}
		}
		end, err := r.conn.BeginOwn(ctx)
		if err != nil {
			return err
		}
		bare, err := r.holdBare(ctx)
		if err == nil && bare {
			if open {
				r.foundBare()
			}
			return end(statement())
		}
		if err == nil && (open || tries >= maxReadOnlyTries) {
			err = d.ErrReadOnly()
		}
		if eerr := end(err); eerr != nil {
			return eerr
		}
	}
}

// runBesideHeld runs a statement in a transaction whose statements have snapshots of their own.
// Another session finds that there are no slots, and keeps it so until the statement has run.
func (r *Run) runBesideHeld(ctx context.Context, d dialect.ReadOnlyErrorClassifier, statement func() error) error {
	release, err := r.holdWithContext(ctx, func(r *Run, ctx context.Context) (func() error, error) { return r.holdGaps(ctx, d) })
	if err != nil {
		return r.notKept(err)
	}
	err = statement()
	if rerr := release(); err == nil {
		err = rerr // the locks may have been lost before the statement has run
	}
	return err
}

// holdGaps drains the tables on another connection until it finds no slots, and has locked the
// gaps where they would be. The locks last until release.
func (r *Run) holdGaps(ctx context.Context, d dialect.ReadOnlyErrorClassifier) (release func() error, err error) {
	c, err := OpenOwn(ctx, r.conn.Shared)
	if err != nil {
		return nil, err
	}
	defer func() {
		if release == nil {
			_ = c.Parent.Close()
		}
	}()
	whole := r.wholeTables(c)
	for {
		if err := whole.exec(ctx, d.NextRepeatableRead()); err != nil {
			return nil, err
		}
		end, err := c.BeginOwn(ctx)
		if err != nil {
			return nil, err
		}
		bare, err := whole.holdBare(ctx)
		if err == nil && bare {
			return func() error {
				defer func() { _ = c.Parent.Close() }()
				return end(nil)
			}, nil
		}
		if err = end(err); err == nil {
			err = c.InOwnTx(ctx, func() error {
				_, err := whole.drain(ctx)
				return err
			})
		}
		if err != nil && (ctx.Err() != nil || !c.Engine.Retryable(err)) {
			return nil, err
		}
	}
}

// onReadOnlyServer reports whether err came of a server that takes no writes. The
// transaction goes on.
func (r *Run) onReadOnlyServer(err error) bool {
	d, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyErrorClassifier)
	return ok && d.ServerReadOnly(err)
}

// runOnReadOnlyServer runs a statement in a transaction on a server that takes no writes, if the
// transaction's snapshot shows no slots.
func (r *Run) runOnReadOnlyServer(ctx context.Context, refused error, snapshot bool, statement func() error) error {
	bare, err := false, error(nil)
	if snapshot && !r.locksRows() {
		bare, err = r.bare(ctx)
	}
	if err != nil {
		return r.conn.Lost(err)
	}
	if !bare {
		return r.notFolded(refused, "run it at REPEATABLE READ once the slots are rolled up")
	}
	r.foundBare()
	return statement()
}

// locksRows reports whether the statement may lock what it reads, so that the plain one keeps
// others from counting until the transaction ends. Anything but a query reads with locks.
func (r *Run) locksRows() bool {
	for _, t := range lex.Tokens(r.conn.Dialect().LexRules(), r.Plan.SQL) {
		switch strings.ToUpper(r.Plan.SQL[t.Start:t.End]) {
		case "(":
			continue
		case "SELECT", "WITH", "TABLE", "VALUES", "EXPLAIN":
		default:
			return true
		}
		break
	}
	return lex.ContainsFold(r.Plan.SQL, "for update") || lex.ContainsFold(r.Plan.SQL, "share")
}

// heldBare reports whether the transaction has found earlier that the tables have no slots.
func (r *Run) heldBare() bool {
	return !slices.ContainsFunc(r.Plan.Drain.Tables, func(d rewrite.DrainTable) bool {
		return !slices.Contains(r.conn.bareTables, d.Table.Counter.Slotted())
	})
}

// locksGaps reports whether the open transaction is at REPEATABLE READ or above.
func (r *Run) locksGaps(ctx context.Context, d dialect.ReadOnlyErrorClassifier) (bool, error) {
	if begun := sql.IsolationLevel(r.conn.begun); begun != sql.LevelDefault {
		return begun >= sql.LevelRepeatableRead, nil
	}
	return d.LocksGaps(ctx, r.conn.Session())
}

// foldAside drains the tables on a connection of slotsql's own.
func (r *Run) foldAside(ctx context.Context) error {
	_, err := r.holdWithContext(ctx, func(r *Run, ctx context.Context) (func() error, error) { return nil, r.foldOn(ctx) })
	return err
}

func (r *Run) foldOn(ctx context.Context) error {
	c, err := OpenOwn(ctx, r.conn.Shared)
	if err != nil {
		return err
	}
	defer c.Parent.Close()
	return c.InOwnTx(ctx, func() error {
		_, err := r.wholeTables(c).drain(ctx)
		return err
	})
}

// holdBare reports whether the tables have no slots, both as the transaction sees them and as they
// are, and keeps it so.
func (r *Run) holdBare(ctx context.Context) (bool, error) {
	for _, lock := range []string{"", " LOCK IN SHARE MODE"} {
		for _, d := range r.Plan.Drain.Tables {
			some, err := r.conn.Session().Query(ctx, rewrite.FullSlots(r.conn.Dialect(), d.Table)+lock)
			if err != nil || len(some) > 0 {
				return false, err
			}
		}
	}
	return true, nil
}

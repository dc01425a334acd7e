package session

import (
	"cmp"
	"context"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
)

// If all queries of a transaction see one snapshot, a look at the slot tables tells what a view
// will read: if the snapshot shows no slots, base values are the totals for as long as the
// transaction lasts, without any lock.
//
// In autocommit the look and the statement share a transaction of slotsql's own. If there are
// slots, and the session is read-only only by its own setting, they are folded in a transaction
// that is read-write for the fold, and read-only again for the statement.
//
// In a READ ONLY transaction of the application (PostgreSQL) nothing can be folded. That is done
// on another connection, which then holds the lock of a drain while it sees no slots: no increment
// in slots is in flight, and none can begin. At REPEATABLE READ and above it holds the lock while
// the look takes the snapshot, and what the look finds decides. Below, each statement has its own
// snapshot, and a routine several, so the lock is held until the statement has run: it sees base
// values that are totals. The server does not know that the statement and the lock belong together
// and would not detect a deadlock between them. So neither waits for locks for ever, and a session
// that waits for both is released.

const (
	lookPatience = time.Second // the lock is held while a snapshot is opened
	readPatience = "10s"       // the statement waits for a lock of others while the lock is held
)

// runInSnapshot runs a statement in a transaction of slotsql's own that shows no slots, or else
// after a drain if the session may write.
func (r *Run) runInSnapshot(ctx context.Context, refused error, statement func() error) error {
	c := r.conn
	d := c.Shared.Dialect.(dialect.ReadOnlyReader)
	end, err := c.BeginOwnAs(ctx, d.ReadTx())
	if err != nil {
		return err
	}
	bare, err := r.bare(ctx)
	if err == nil && bare {
		return end(statement())
	}
	if err := end(err); err != nil {
		return err
	}
	lifts, err := d.MayLift(ctx, c.Session())
	if err != nil {
		return c.Lost(err)
	}
	if !lifts {
		return r.notFolded(refused, "connect to a database that may be written")
	}
	return r.runWritable(ctx, d, refused, statement)
}

// runWritable runs a statement after a drain that only the session's own setting forbids.
func (r *Run) runWritable(ctx context.Context, d dialect.ReadOnlyReader, refused error, statement func() error) error {
	c := r.conn
	defer c.Drain.End()
	end, err := c.BeginOwn(ctx)
	if err != nil {
		return err
	}
	err = c.Session().ExecAll(ctx, d.Lift())
	if err == nil {
		_, err = r.drain(ctx)
	}
	if lerr := c.Session().ExecAll(context.WithoutCancel(ctx), d.Lower()); err == nil {
		err = lerr
	}
	if err == nil {
		return end(statement())
	}
	if err = end(err); d.ReadOnly(err) {
		return r.notFolded(cmp.Or(refused, err), "connect to a database that may be written")
	}
	return err
}

// runInReadOnlyTx runs a statement in the application's READ ONLY transaction.
func (r *Run) runInReadOnlyTx(ctx context.Context, w dialect.ReadOnlyWatcher, statement func() error) error {
	c := r.conn
	if r.heldBare() {
		return statement()
	}
	held, err := c.atSnapshot(ctx)
	if err != nil {
		return err
	}
	if held {
		return r.runInOldSnapshot(ctx, w, statement)
	}
	applied, err := r.ask(ctx, w.AppliedQuery())
	if err != nil {
		return err
	}
	if applied != "" {
		return r.runOnReplica(ctx, w, applied, statement)
	}
	if c.lastChange > 0 { // the lock would wait for this transaction
		return r.notFolded(w.ErrReadOnly(), "do so before the transaction has changed it and become READ ONLY")
	}
	release, err := r.holdWithContext(ctx, (*Run).holdAside)
	if err != nil {
		return r.notKept(err)
	}
	err = r.runWithLockTimeout(ctx, w, statement)
	if rerr := release(); err == nil {
		err = rerr // the lock may have been lost before the statement has run
	}
	return err
}

// runInOldSnapshot runs a statement in a transaction whose snapshot shows no slots.
func (r *Run) runInOldSnapshot(ctx context.Context, w dialect.ReadOnlyWatcher, statement func() error) error {
	// Without the lock the look tells all the same. The lock may be waiting for transactions that
	// wait for it (DEFERRABLE): then it is given up.
	release, err := r.holdWithContext(ctx, (*Run).holdAside)
	if err == nil {
		held := time.AfterFunc(lookPatience, func() { _ = release() })
		defer func() {
			if held.Stop() {
				_ = release()
			}
		}()
	}
	bare, err := r.bare(ctx)
	if err != nil {
		return r.conn.Lost(err)
	}
	if !bare {
		return r.notFolded(w.ErrReadOnly(), "begin the transaction with this statement")
	}
	r.foundBare()
	return statement()
}

// runOnReplica runs a statement between two looks that find no slots, with the replica in the same
// state: at most one transaction has become visible in between. If that had created slots, the
// second look would see them, since it takes another transaction to fold them.
func (r *Run) runOnReplica(ctx context.Context, w dialect.ReadOnlyWatcher, applied string, statement func() error) error {
	bare, err := r.bare(ctx)
	if err != nil {
		return r.conn.Lost(err)
	}
	if bare {
		if err := statement(); err != nil {
			return err
		}
		if bare, err = r.bare(ctx); err != nil {
			return r.conn.Lost(err)
		}
		now, err := r.ask(ctx, w.AppliedQuery())
		if err != nil {
			return err
		}
		bare = bare && now == applied
	}
	if !bare {
		return r.notFolded(w.ErrReadOnly(), "run it at REPEATABLE READ once the slots are rolled up")
	}
	return nil
}

// runWithLockTimeout runs a statement that waits for a lock for some seconds at most.
func (r *Run) runWithLockTimeout(ctx context.Context, w dialect.ReadOnlyWatcher, statement func() error) error {
	ask, set := w.LockPatience()
	patience, err := r.ask(ctx, ask)
	if err != nil {
		return err
	}
	if patience != "0" {
		return statement()
	}
	if _, err := r.conn.Session().Query(ctx, set, readPatience); err != nil {
		return r.conn.Lost(err)
	}
	if err := statement(); err != nil {
		return err // and the transaction fails
	}
	_, err = r.conn.Session().Query(ctx, set, patience)
	return r.conn.Lost(err)
}

// ask returns the one value that a query returns.
func (r *Run) ask(ctx context.Context, query string) (string, error) {
	answer, err := r.conn.Session().Query(ctx, query)
	if err != nil || len(answer) == 0 || len(answer[0]) == 0 {
		return "", r.conn.Lost(err)
	}
	return link.TextOf(answer[0][0]), nil
}

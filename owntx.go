package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// txState is what is known of a session's transaction. Known is false after
// any text that may have begun or ended one, after an error, with which an
// engine may have rolled it back, and after a query, whose error may come with
// its rows; the engine is then asked when it matters, which is when a drain has
// to know whether to begin its own.
type txState struct {
	known bool
	open  bool
	// byText says that a text may have begun a transaction, or left one open.
	byText bool
}

// endPatience bounds how long a transaction of slotsql's own may take to end
// once the statement's context is done; then the connection is given up.
const endPatience = 10 * time.Second

func (c *link) parentBegin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.parent.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("slotsql: the parent driver does not support isolation levels")
	}
	if opts.ReadOnly {
		return nil, errors.New("slotsql: the parent driver does not support read-only transactions")
	}
	t, err := c.parent.Begin() //nolint:staticcheck // the parent's choice
	if err == nil && ctx.Err() != nil {
		_ = t.Rollback()
		return nil, ctx.Err()
	}
	return t, err
}

// inTransaction says whether the session is in a transaction of the
// application.
func (c *link) inTransaction(ctx context.Context) (bool, error) {
	if c.engine.watcher != nil {
		return c.engine.watcher.ConnInTransaction(c.parent), nil
	}
	if !c.tx.known {
		open, err := c.db.dialect.InTransaction(ctx, c.session())
		if err != nil {
			return false, err
		}
		c.tx.known, c.tx.open = true, open
	}
	return c.tx.open, nil
}

// mayBeInTransaction is inTransaction where an engine cannot tell, which is told by
// what the session has run.
func (c *link) mayBeInTransaction(ctx context.Context) (bool, error) {
	if c.engine.watcher == nil && c.db.dialect.Drain().Nested {
		return c.tx.open || c.tx.byText, nil
	}
	return c.inTransaction(ctx)
}

// inTx runs f in a transaction of slotsql's own, or in the session's when
// there is one. On an error everything of an own transaction is undone.
func (c *link) inTx(ctx context.Context, f func() error) error {
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return end(err)
	}
	return end(nil)
}

// begin opens a drain's own transaction where it needs one. The returned
// function ends it: by a commit for a nil error, else by a rollback; it
// returns the error to report. A transaction that cannot be ended ends with
// its connection, which is not used again.
func (c *link) begin(ctx context.Context) (end func(error) error, err error) {
	return c.beginAs(ctx, c.db.dialect.Drain())
}

// beginAs opens one as d says.
func (c *link) beginAs(ctx context.Context, d dialect.DrainTx) (end func(error) error, err error) {
	if !d.Nested {
		open, err := c.inTransaction(ctx)
		if err != nil {
			return nil, err
		}
		if open {
			return c.lost, nil
		}
	}
	opening := d.Begin
	if len(c.opening) > 0 {
		opening = slices.Concat(opening, c.opening)
	}
	for i, q := range opening {
		_, err := c.parentExec(ctx, q, nil)
		switch {
		case err == nil:
		case i == 0 && settled(err) != err:
			return nil, err // nothing has happened: database/sql may try again
		default:
			// It may have been opened all the same, as when the context ended
			// while the answer was on its way.
			if !c.undo(ctx, d.Rollback) {
				c.broken = true
			}
			return nil, c.lost(err)
		}
	}
	c.ours, c.sighted = true, false
	return func(err error) error {
		c.ours = false
		if err == nil {
			err = c.commit(ctx, d.Commit, d.Nested)
		}
		if err == nil {
			return nil
		}
		if c.undo(ctx, d.Rollback) {
			err = stillConnected(err)
		} else {
			c.broken = true
		}
		c.halfway = false
		return c.lost(err)
	}, nil
}

// commit ends a transaction under the statement's context. When that is done
// already, or may not interrupt, it gets a time of its own: the statement has
// succeeded, and rows may be closed late.
func (c *link) commit(ctx context.Context, texts []string, nested bool) error {
	if nested || ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.db.patience)
		defer cancel()
	}
	for _, q := range texts {
		if _, err := c.parentExec(ctx, q, nil); err != nil {
			return err
		}
	}
	return nil
}

// undo rolls back, whatever has become of the statement's context. It says
// whether no transaction is left.
func (c *link) undo(ctx context.Context, texts []string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.db.patience)
	defer cancel()
	ok := true
	for _, q := range texts {
		if _, err := c.parentExec(ctx, q, nil); err != nil && !c.engine.savepointGone(err) {
			ok = false
		}
	}
	return ok
}

// lost makes an error safe to report after a side effect, and takes the
// connection out of use when it is gone, or when the application's transaction
// holds half a fold and must not be committed.
func (c *link) lost(err error) error {
	if u := (*unappliedError)(nil); errors.As(err, &u) {
		c.broken = true // and the transaction is gone with it
		return u.error
	}
	s := settled(err)
	if s != err || c.halfway {
		c.broken = true
	}
	return s
}

// waitsBriefly has the statements of a connection of slotsql's own wait for locks
// for seconds at most.
func (c *link) waitsBriefly(ctx context.Context) error {
	c.opening = c.db.dialect.DrainTransaction()
	return c.session().execAll(ctx, c.db.dialect.DrainSession())
}

// idle reports whether the parent knows that no transaction is open.
func (c *link) idle() bool {
	return c.engine.watcher != nil && !c.engine.watcher.ConnInTransaction(c.parent)
}

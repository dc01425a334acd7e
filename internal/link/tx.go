package link

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// EndPatience bounds how long a transaction of slotsql's own may take to end once the statement's
// context is done. After that the connection is given up.
const EndPatience = 10 * time.Second

// ParentBegin begins a transaction on the parent, by the old interface if it has no other and the
// options need none.
func (c *Conn) ParentBegin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.Parent.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("slotsql: the parent driver does not support isolation levels")
	}
	if opts.ReadOnly {
		return nil, errors.New("slotsql: the parent driver does not support read-only transactions")
	}
	t, err := c.Parent.Begin() //nolint:staticcheck // the parent's choice
	if err == nil && ctx.Err() != nil {
		_ = t.Rollback()
		return nil, ctx.Err()
	}
	return t, err
}

// InTransaction reports whether the session is in a transaction of the
// application.
func (c *Conn) InTransaction(ctx context.Context) (bool, error) {
	if c.Engine.Watcher != nil {
		return c.Engine.Watcher.ConnInTransaction(c.Parent), nil
	}
	if open, ok := c.Tx.Known(); ok {
		return open, nil
	}
	open, err := c.DB.Dialect.InTransaction(ctx, c.Session())
	if err != nil {
		return false, err
	}
	c.Tx.Answer(open)
	return open, nil
}

// InAutocommit reports whether the next statement is certainly committed, or rolled back, by
// itself.
func (c *Conn) InAutocommit() bool {
	if c.Engine.Watcher != nil {
		return !c.Engine.Watcher.ConnInTransaction(c.Parent)
	}
	return c.DB.Sharing && !c.Rare.Any(ChangedSettings) && c.Tx.None()
}

// Busy reports whether the parent is certain to refuse the next statement without sending it, because rows of a query are
// open. The parent's own answer to the application's SQL is then right, and leaves the transaction as it is.
func (c *Conn) Busy() bool {
	if c.Engine.busy == nil {
		return false
	}
	busy, _ := c.Engine.busy.ConnState(c.Parent)
	return busy
}

// MayBeInTransaction is InTransaction. If the engine cannot tell, it goes by what the session has
// run.
func (c *Conn) MayBeInTransaction(ctx context.Context) (bool, error) {
	if c.Engine.Watcher == nil && c.DB.Dialect.Drain().Nested {
		return c.Tx.LastKnownOpen() || c.Tx.BySQL(), nil
	}
	return c.InTransaction(ctx)
}

// InOwnTx runs f in a transaction of slotsql's own, or in the session's if there is one. After an
// error a transaction of its own is rolled back.
func (c *Conn) InOwnTx(ctx context.Context, f func() error) error {
	end, err := c.BeginOwn(ctx)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return end(err)
	}
	return end(nil)
}

// BeginOwn begins a drain's own transaction, if it needs one. The returned function ends it, by a
// commit for a nil error, else by a rollback, and returns the error to report. If a transaction
// cannot be ended, its connection is not used again.
func (c *Conn) BeginOwn(ctx context.Context) (end func(error) error, err error) {
	return c.BeginOwnAs(ctx, c.DB.Dialect.Drain())
}

// BeginOwnAs opens one as d says.
func (c *Conn) BeginOwnAs(ctx context.Context, d dialect.DrainTx) (end func(error) error, err error) {
	if !d.Nested {
		open, err := c.InTransaction(ctx)
		if err != nil {
			return nil, err
		}
		if open {
			return c.Lost, nil
		}
	}
	opening := d.Begin
	if len(c.Opening) > 0 {
		opening = slices.Concat(opening, c.Opening)
	}
	for i, q := range opening {
		_, err := c.ParentExec(ctx, q, nil)
		switch {
		case err == nil:
		case i == 0 && Settled(err) != err:
			return nil, err // nothing has happened: database/sql may try again
		default:
			// It may have been opened all the same: the context may have ended while the answer
			// was on its way.
			if !c.rollback(ctx, d.Rollback) {
				c.Rare.Set(Broken)
			}
			return nil, c.Lost(err)
		}
	}
	c.Tx.BeginOwn()
	return func(err error) error {
		c.Tx.EndOwn()
		if err == nil {
			err = c.commit(ctx, d.Commit, d.Nested)
		}
		if err == nil {
			return nil
		}
		if c.rollback(ctx, d.Rollback) {
			err = stillConnected(err)
		} else {
			c.Rare.Set(Broken)
		}
		c.Drain.Undo()
		return c.Lost(err)
	}, nil
}

// commit ends a transaction under the statement's context. If that has ended already, or must not
// interrupt the commit, it gets a time limit of its own: the statement has succeeded, and rows may
// be closed late.
func (c *Conn) commit(ctx context.Context, statements []string, nested bool) error {
	if nested || ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.DB.Patience)
		defer cancel()
	}
	for _, q := range statements {
		if _, err := c.ParentExec(ctx, q, nil); err != nil {
			return err
		}
	}
	return nil
}

// rollback rolls back, even if the statement's context has ended, and reports whether no
// transaction is left.
func (c *Conn) rollback(ctx context.Context, statements []string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DB.Patience)
	defer cancel()
	ok := true
	for _, q := range statements {
		if _, err := c.ParentExec(ctx, q, nil); err != nil && !c.Engine.savepointGone(err) {
			ok = false
		}
	}
	return ok
}

// Lost makes an error safe to return after a side effect. It takes the connection out of use if
// that is lost, or if the application's transaction holds half a fold and must not be committed.
func (c *Conn) Lost(err error) error {
	if u := (*unappliedError)(nil); errors.As(err, &u) {
		c.Rare.Set(Broken) // and the transaction is gone with it
		return u.error
	}
	s := Settled(err)
	if s != err || c.Drain.HalfDone() {
		c.Rare.Set(Broken)
	}
	return s
}

// LimitLockWaits makes the statements of a connection of slotsql's own wait for a lock for a few
// seconds at most.
func (c *Conn) LimitLockWaits(ctx context.Context) error {
	session, transaction := c.DB.Dialect.Draining()
	c.Opening = transaction
	return c.Session().ExecAll(ctx, session)
}

// NoteTx notes what one statement has done to the transaction. Ddl reports that it is certainly
// DDL.
func (c *Conn) NoteTx(e lex.TxEvent, ddl bool) {
	c.Tx.Apply(e, TxRules{Watched: c.Engine.Watcher != nil, DDLCommits: c.DB.Traits.DDLCommits, DDL: ddl})
}

// noteOwn notes that a statement of slotsql's own has begun or ended a transaction; it has no
// other effect on one. Drains of the application's statements do so themselves: see BeginOwn.
func (c *Conn) noteOwn(sql string) {
	for _, e := range lex.TxEvents(c.DB.Dialect.LexRules(), sql) {
		if e.Kind == lex.TxBegins || e.Kind == lex.TxEnds {
			c.NoteTx(e, false)
		}
	}
}

// Idle reports whether, as far as the parent knows, no transaction is open. It is false if the parent cannot tell.
func (c *Conn) Idle() bool {
	return c.Engine.Watcher != nil && !c.Engine.Watcher.ConnInTransaction(c.Parent)
}

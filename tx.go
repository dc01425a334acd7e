package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
)

var _ driver.Tx = (*tx)(nil)

// txState is what is known of a session's transaction. Known is false after
// any text that may have begun or ended one; the engine is then asked when it
// matters, which is when a drain has to know whether to begin its own.
type txState struct {
	known bool
	open  bool
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	t, err := c.parentBegin(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.tx = txState{known: true, open: true}
	return &tx{conn: c, parent: t}, nil
}

func (c *conn) parentBegin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.parent.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("slotsql: the parent driver does not support isolation levels")
	}
	if opts.ReadOnly {
		return nil, errors.New("slotsql: the parent driver does not support read-only transactions")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.parent.Begin() //nolint:staticcheck // the parent's choice
}

// tx is a transaction begun through BeginTx.
type tx struct {
	conn   *conn
	parent driver.Tx
}

// Commit implements driver.Tx. The state is unknown afterwards, not closed: a
// failed commit may leave a transaction, and the session may have autocommit
// off.
func (t *tx) Commit() error {
	t.conn.tx = txState{}
	return t.parent.Commit()
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	t.conn.tx = txState{}
	return t.parent.Rollback()
}

// inTransaction says whether the session is in a transaction of the
// application.
func (c *conn) inTransaction(ctx context.Context) (bool, error) {
	if c.engine.watcher != nil {
		return c.engine.watcher.ConnInTransaction(c.parent), nil
	}
	if !c.tx.known {
		open, err := c.shared.dialect.InTransaction(ctx, &c.session)
		if err != nil {
			return false, err
		}
		c.tx = txState{known: true, open: open}
	}
	return c.tx.open, nil
}

// inTx runs f in a transaction of slotsql's own, or in the session's when
// there is one. On an error everything of an own transaction is undone.
func (c *conn) inTx(ctx context.Context, f func() error) error {
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
// returns the error to report.
func (c *conn) begin(ctx context.Context) (end func(error) error, err error) {
	d := c.shared.dialect.Drain()
	if !d.Nested {
		open, err := c.inTransaction(ctx)
		if err != nil {
			return nil, err
		}
		if open {
			return func(err error) error { return c.lost(err) }, nil
		}
	}
	for i, q := range d.Begin {
		if _, err := c.parentExec(ctx, q, nil); err != nil {
			if i == 0 {
				return nil, err // nothing has happened: database/sql may try again
			}
			return nil, c.lost(err)
		}
	}
	// A transaction must end whatever has become of the statement's context.
	ctx = context.WithoutCancel(ctx)
	return func(err error) error {
		if err != nil {
			for _, q := range d.Rollback {
				if _, rerr := c.parentExec(ctx, q, nil); rerr != nil && !d.Nested {
					c.broken = true // the server ends the transaction with the connection
					break
				}
			}
			return c.lost(err)
		}
		for _, q := range d.Commit {
			if _, err := c.parentExec(ctx, q, nil); err != nil {
				for _, q := range d.Rollback {
					if _, rerr := c.parentExec(ctx, q, nil); rerr != nil && !d.Nested {
						c.broken = true
					}
				}
				return c.lost(err)
			}
		}
		return nil
	}, nil
}

// lost makes an error safe to report after a side effect, and takes the
// connection out of use when it is gone.
func (c *conn) lost(err error) error {
	s := settled(err)
	if s != err {
		c.broken = true
	}
	return s
}

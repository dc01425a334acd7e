package slotsql

import (
	"context"
	"database/sql/driver"
)

var _ driver.Tx = (*tx)(nil)

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.await(ctx); err != nil {
		return nil, err
	}
	c.heedHere(ctx)
	goesOn := c.engine.watcher != nil && c.engine.watcher.ConnInTransaction(c.parent) // BEGIN by text: PostgreSQL only warns
	t, err := c.parentBegin(ctx, c.levelFor(opts))
	if err != nil {
		return nil, err
	}
	c.lasting, c.untouched = true, true
	if goesOn {
		c.level = levelUnknown
	} else {
		c.ended() // the one before, however that was
	}
	c.tx = txState{known: true, open: true}
	c.begun = opts.Isolation
	c.readOnly = opts.ReadOnly
	return &tx{conn: c, parent: t}, nil
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
	if t.conn.broken {
		_ = t.Rollback()
		return errBroken
	}
	err := t.parent.Commit()
	if err == nil {
		t.conn.trials.acquit()
	}
	t.conn.finished(err)
	return err
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	err := t.parent.Rollback()
	t.conn.finished(err)
	return err
}

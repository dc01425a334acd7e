package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
)

var (
	_ driver.ConnBeginTx = (*Conn)(nil)
	_ driver.Tx          = (*tx)(nil)
)

// Begin implements driver.Conn.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.Rare.Any(link.Detached) {
		if err := c.detached.await(ctx); err != nil {
			return nil, err
		}
	}
	if !c.Ready() {
		c.LookHereIfDue(ctx)
	}
	goesOn := c.Engine.Watcher != nil && c.Engine.Watcher.ConnInTransaction(c.Parent) // BEGIN sent as SQL: PostgreSQL only warns
	t, err := c.ParentBegin(ctx, c.levelFor(opts))
	if err != nil {
		return nil, err
	}
	if !goesOn {
		c.noteTxEnd() // of the transaction before, however it ended
	}
	c.Tx.Begin()
	c.begin(opts)
	if goesOn {
		c.relevel()
	}
	return &tx{conn: c, parent: t}, nil
}

// tx is a transaction begun through BeginTx.
type tx struct {
	conn   *Conn
	parent driver.Tx
}

// Commit implements driver.Tx. It leaves the state of the transaction unknown: after a failed
// commit one may still be open, and the session may have autocommit off.
func (t *tx) Commit() error {
	if t.conn.Rare.Any(link.Broken) {
		_ = t.Rollback()
		return link.ErrRolledBack
	}
	err := t.parent.Commit()
	if err == nil {
		t.conn.trials.Committed()
	}
	t.conn.noteTxFinish(err)
	return err
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	err := t.parent.Rollback()
	t.conn.noteTxFinish(err)
	return err
}

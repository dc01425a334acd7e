package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// At READ UNCOMMITTED a query reads each row as it is at that moment, committed or not. A total
// consists of a base row and its slots, and a fold moves a sum from the one to the other: a dirty
// read of both may see the sum twice, or not at all, which no dirty read of a single row shows. So
// totals are read at READ COMMITTED, which the level allows: it promises no dirty reads. A
// transaction that a statement has begun at READ UNCOMMITTED cannot change its level. There the
// rows are drained, and no other session folds them until it ends.

// levelFor returns the options of a transaction that may read totals.
func (c *Conn) levelFor(opts driver.TxOptions) driver.TxOptions {
	const readUncommitted, readCommitted = 1, 2 // of database/sql
	if _, ok := c.Shared.Dialect.(dialect.DirtyReader); ok && len(c.Shared.Tables) > 0 && opts.Isolation == readUncommitted {
		opts.Isolation = readCommitted
	}
	return opts
}

// readCommitted makes the next query read committed data only.
func (r *Run) readCommitted(ctx context.Context) error {
	c := r.conn
	if !c.ReadsDirty() {
		return nil
	}
	open, err := c.InTransaction(ctx)
	if err != nil {
		return err
	}
	if !open {
		return r.exec(ctx, c.Dialect().(dialect.DirtyReader).NextReadCommitted())
	}
	defer c.Drain.End()
	p := r.Plan.variant(&rewrite.Plan{Class: rewrite.Drain, SQL: r.Plan.SQL, Tables: r.Plan.Tables,
		Reason: "a transaction at READ UNCOMMITTED reads a counter"})
	for _, t := range r.Plan.Touched {
		p.Drain.Tables = append(p.Drain.Tables, rewrite.DrainAll(c.Dialect(), t))
	}
	drain := c.newRun(p, direct{c}, call{})
	if _, err := drain.drain(ctx); err != nil {
		return c.Lost(err)
	}
	drain.noteDrained()
	return nil
}

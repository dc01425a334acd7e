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
func (rd reading) readCommitted(ctx context.Context) error {
	c := rd.conn
	if !c.ReadsDirty() {
		return nil
	}
	open, err := c.InTransaction(ctx)
	if err != nil {
		return err
	}
	if !open {
		return rd.run.exec(ctx, c.Dialect().(dialect.DirtyReader).NextReadCommitted())
	}
	defer c.Drain.End()
	all := &rewrite.DrainPlan{}
	for _, t := range rd.run.Plan.Touched {
		all.Tables = append(all.Tables, rewrite.DrainAll(c.Dialect(), t))
	}
	dr := rd.run.drainOf(all)
	dr.reason = "a transaction at READ UNCOMMITTED reads a counter"
	if _, err := dr.drain(ctx); err != nil {
		return c.Lost(err)
	}
	rowChangesOf(rd.run).noteDrained(all.Tables)
	return nil
}

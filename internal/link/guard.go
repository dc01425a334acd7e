package link

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

// A node of a Galera cluster rolls back a transaction that conflicts with what
// another node has committed, and says so with the next statement: error 1213.
// When that falls together with the preparation of a statement, it does not
// (MariaDB 10.11): the preparation succeeds, no transaction is left, and what
// follows runs in autocommit. The plain driver has that as well, before a
// statement with arguments that is not the first of its transaction. A drain has
// statements before the application's first, and prepares more of them, which
// would then fold, or read, without a lock.
//
// So on such a node slotsql looks whether the transaction is still there after
// each preparation of its own in it, and of a statement that it has drained for. And
// if one of its own statements fails because the transaction has ended, the
// application gets that error: its next statement would get none.

// prepareGuarded prepares a statement, and returns the engine's error for a
// transaction that is rolled back where that has happened meanwhile.
func (c *Conn) prepareGuarded(ctx context.Context, query string) (driver.Stmt, error) {
	g, ok := c.DB.Dialect.(dialect.TxGuard)
	if !ok || !c.Cluster || !c.Drain.UnderWay() && !c.Tx.KeepsLocks() {
		return c.prepareText(ctx, query)
	}
	open := c.Drain == DrainGuarded
	if !open {
		var err error
		if open, err = g.TxOpen(ctx, c.Session()); err != nil {
			return nil, err
		}
	}
	st, err := c.prepareText(ctx, query)
	if err != nil || !open {
		return st, err
	}
	still, err := g.TxOpen(ctx, c.Session())
	if err == nil && !still {
		err = g.TxUndone()
	}
	if err != nil {
		_ = st.Close()
		return nil, Settled(err)
	}
	c.Drain.Guard()
	return st, nil
}

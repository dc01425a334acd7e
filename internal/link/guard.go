package link

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

// A node of a Galera cluster rolls back a transaction that conflicts with what another node has
// committed, and the next statement fails with error 1213. If that happens while a statement is
// being prepared, nothing fails (MariaDB 10.11): the statement is prepared, the transaction is
// gone, and what follows runs in autocommit. The plain driver has that problem as well, before any
// statement with arguments but the first of its transaction. A drain runs statements before the
// application's first one, and prepares more of them, which would then fold, or read, without a
// lock.
//
// So on such a node slotsql checks whether the transaction is still open each time it has prepared
// one of its own statements, or one that it has drained for. And if one of its own statements
// fails because the transaction has ended, the application gets that error: its next statement
// would get none.

// prepareGuarded prepares a statement. If the transaction has been rolled back meanwhile, it
// returns the engine's error for that.
func (c *Conn) prepareGuarded(ctx context.Context, query string) (driver.Stmt, error) {
	g, ok := c.DB.Dialect.(dialect.TxGuard)
	if !ok || !c.Cluster || !c.Drain.UnderWay() && !c.Rare.Any(TxOpen) {
		return c.prepareOnParent(ctx, query)
	}
	open := c.Drain == DrainGuarded
	if !open {
		var err error
		if open, err = g.TxOpen(ctx, c.Session()); err != nil {
			return nil, err
		}
	}
	st, err := c.prepareOnParent(ctx, query)
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

package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// UncountedRun returns an execution of a plan beside the application's. It is not planned again,
// and not counted.
func (c *Conn) UncountedRun(p *plan, args []driver.NamedValue) *Run {
	uncounted := planOf(p.Plan)
	uncounted.source = p.source
	return c.newRun(uncounted, direct{c}, call{args: args})
}

// DrainFor folds the slots that a plan drains, in the open transaction.
func (c *Conn) DrainFor(ctx context.Context, p *rewrite.Plan, args []driver.NamedValue) error {
	_, err := c.newRun(planOf(p), direct{c}, call{args: args}).drainOf(&p.Drain).drain(ctx)
	return err
}

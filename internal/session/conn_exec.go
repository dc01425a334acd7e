package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ driver.ExecerContext = (*Conn)(nil)

// ExecContext implements driver.ExecerContext.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if e, ok := c.Parent.(driver.ExecerContext); ok && c.busy() {
		return e.ExecContext(ctx, query, args)
	}
	query, args, options, err := c.Engine.RewriteArgs(ctx, c.Parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if p.passes() {
		e, ok := c.Parent.(driver.ExecerContext)
		if !ok {
			return c.legacyExec(ctx, p, query, args)
		}
		res, err := e.ExecContext(ctx, query, link.JoinArgs(options, args))
		c.noteRan(p, err)
		if err != driver.ErrSkip {
			c.Shared.shadowRan(p)
		}
		return res, err
	}
	c.Shared.shadowRan(p)
	r := c.takeRun(p, direct{c}, call{args: args, options: options})
	a, err := r.run(ctx)
	c.keepRun(r)
	return a.result, err
}

// legacyExec serves a parent that only has the old Execer, or none.
func (c *Conn) legacyExec(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Result, error) {
	e, ok := c.Parent.(driver.Execer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := link.Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := e.Exec(query, values)
	c.noteRan(p, err)
	if err != driver.ErrSkip {
		c.Shared.shadowRan(p)
	}
	return res, err
}

// refusal returns the error of a statement that the plan or the configuration refuses.
func refusal(plan *rewrite.Plan) error {
	if plan.Class == rewrite.Refused {
		return unsupported(plan, plan.Reason)
	}
	if plan.Class != rewrite.Drain {
		return nil
	}
	for _, d := range plan.Drain.Tables {
		if d.Table.Counter.Options.OnDrain == schema.OnDrainError {
			return &link.DrainError{Reason: plan.Reason, Table: d.Table.Name}
		}
	}
	return nil
}

// unsupported returns the error of a statement that cannot be run exactly.
func unsupported(plan *rewrite.Plan, reason string) error {
	e := &link.UnsupportedError{Reason: reason}
	if len(plan.Tables) > 0 {
		e.Table = plan.Tables[0]
	}
	return e
}

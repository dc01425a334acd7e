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
	execer, execs := c.Parent.(driver.ExecerContext)
	if execs && c.Rare.Any(mayBeBusy) && c.busy() {
		return execer.ExecContext(ctx, query, args)
	}
	var options []driver.NamedValue
	var err error
	if len(args) > 0 && c.Engine.Args != nil {
		if query, args, options, err = c.Engine.Args.RewriteArgs(ctx, c.Parent, query, args); err != nil {
			return nil, err
		}
	}
	p, err := c.Plan(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case p.passes && !execs:
		return c.legacyExec(ctx, p, query, args)
	case p.passes:
		if len(options) > 0 {
			args = link.JoinArgs(options, args)
		}
		res, err := execer.ExecContext(ctx, query, args)
		if err != nil || !p.quiet || p.shadow != nil || c.Rare.Any(mayNote) {
			c.notePassed(p, err)
		}
		return res, err
	}
	if p.shadow != nil {
		c.Shared.Shadow.Ran(p.shadow)
	}
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
	c.notePassed(p, err)
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

package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

var _ driver.QueryerContext = (*Conn)(nil)

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args, options, err := c.Engine.RewriteArgs(ctx, c.Parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.queried(p.Plan)
	if p.Class == rewrite.PassThrough && p.Group == nil && (len(p.Base.Changes) == 0 || c.InAutocommit()) {
		q, ok := c.Parent.(driver.QueryerContext)
		if !ok {
			return c.legacyQuery(ctx, p, query, args)
		}
		rows, err := q.QueryContext(ctx, query, link.JoinArgs(options, args))
		c.after(p.Plan, err)
		if err != driver.ErrSkip {
			c.Shared.shadowQueried(p, args, options)
		}
		return rows, err
	}
	c.Shared.shadowQueried(p, args, options)
	return c.run(p, direct{c}, call{args: args, options: options}).query(ctx)
}

func (c *Conn) legacyQuery(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.Parent.(driver.Queryer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := link.Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(query, values)
	c.after(p.Plan, err)
	if err != driver.ErrSkip {
		c.Shared.shadowQueried(p, args, nil)
	}
	return rows, err
}

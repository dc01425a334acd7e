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
	if q, ok := c.Parent.(driver.QueryerContext); ok && c.Rare.Any(mayBeBusy) && c.busy() {
		return q.QueryContext(ctx, query, args)
	}
	var options []driver.NamedValue
	var err error
	if len(args) > 0 && c.Engine.Args != nil {
		if query, args, options, err = c.Engine.Args.RewriteArgs(ctx, c.Parent, query, args); err != nil {
			return nil, err
		}
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if p.passes {
		q, ok := c.Parent.(driver.QueryerContext)
		if !ok {
			return c.legacyQuery(ctx, p, query, args)
		}
		known := c.Engine.Watcher == nil && c.knownOpen(p.Plan)
		rows, err := q.QueryContext(ctx, query, link.JoinArgs(options, args))
		c.noteRan(p, err)
		if err != driver.ErrSkip {
			c.Shared.shadowQueried(p, args, options)
		}
		return c.queried(p, known, rows, err)
	}
	if p.shadow != nil {
		c.Shared.Shadow.Queried(p.shadow, args, options)
	}
	known := c.Engine.Watcher == nil && c.knownOpen(p.Plan)
	r := c.takeRun(p, direct{c}, call{args: args, options: options, wantsRows: true})
	a, err := r.run(ctx)
	c.keepQueried(r, a.rows)
	return c.queried(p, known, a.rows, err)
}

// knownOpen reports whether a transaction is certainly open, and the query does not end it. The parent does not tell.
func (c *Conn) knownOpen(p *rewrite.Plan) bool {
	open, known := c.Tx.Known()
	return known && open && c.Tx.Phase() == link.TxBegun && p.Effects == 0 && p.Class != rewrite.Multi
}

// queried notes that a query has been sent, and returns its rows. An error that ends the transaction may come with the rows; once
// they have been read or closed without one, the transaction is again known to be open.
func (c *Conn) queried(p *plan, known bool, rows driver.Rows, err error) (driver.Rows, error) {
	if err == driver.ErrSkip {
		return rows, err
	}
	c.noteQueried(p.Plan)
	if !known || err != nil {
		return rows, err
	}
	return &link.FinishingRows{RowsBase: link.RowsBase{Rows: rows}, Finish: func(failed bool) error {
		if !failed {
			c.Tx.Confirm()
		}
		return nil
	}}, nil
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
	known := c.Engine.Watcher == nil && c.knownOpen(p.Plan)
	rows, err := q.Query(query, values)
	c.noteRan(p, err)
	if err != driver.ErrSkip {
		c.Shared.shadowQueried(p, args, nil)
	}
	return c.queried(p, known, rows, err)
}

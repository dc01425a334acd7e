package session

import (
	"context"
	"database/sql/driver"
)

var _ driver.ConnPrepareContext = (*Conn)(nil)

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. It plans the statement, so a statement that
// is refused fails here.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.Parent.(driver.ConnPrepareContext); ok && c.Rare.Any(mayBeBusy) && c.busy() {
		return p.PrepareContext(ctx, query)
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := refusal(p.Plan); err != nil {
		return nil, err
	}
	sql := c.firstSQL(p)
	parent, err := c.ParentPrepare(ctx, sql)
	if err != nil {
		if len(p.Tables) > 0 {
			c.LearnFrom(err)
		}
		again := c.newRun(p, direct{c}, call{})
		if !replan(ctx, again, err) {
			return nil, err
		}
		p = again.Plan
		sql = c.firstSQL(p)
		if parent, err = c.ParentPrepare(ctx, sql); err != nil {
			return nil, err
		}
	}
	return newStmt(c, query, p, sql, parent), nil
}

// firstSQL returns the SQL of a plan that is likely to run first.
func (c *Conn) firstSQL(p *plan) string {
	if r := readingOf(c.newRun(p, direct{c}, call{wantsRows: true})); r.expectsNone() {
		return p.Read.Observed.SQL.Of(p.Values)
	}
	return p.SQL
}

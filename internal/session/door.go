package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ driver.SessionResetter   = (*Conn)(nil)
	_ driver.Validator         = (*Conn)(nil)
	_ driver.NamedValueChecker = (*Conn)(nil)
	_ driver.ExecerContext     = (*Conn)(nil)
	_ driver.QueryerContext    = (*Conn)(nil)
)

// The door: what database/sql calls for each use of a session, and for each statement. What is rare about a session
// is one word of bits (link.Rare), and what other sessions have changed one number (catalog.View.Ready). An ordinary session pays a
// comparison.

const (
	// mayBeBusy: the parent may refuse the next statement.
	mayBeBusy = link.RowsOpen | link.Lent
	// atPlan has to be seen to before a statement is planned.
	atPlan = link.Broken | link.Lent | link.Detached | link.FactsOld | link.InsertIDOwed | link.InsertIDPooled
	// mayNote: a statement that is quiet, and has succeeded, may have to be noted all the same.
	mayNote = link.TxOpen | link.TxDangling | link.TxNoted | link.ChangedSettings | link.Unshared | link.Lent | link.Detached
	// atReset may have left something that the next user of the session must not find. Open rows have been closed.
	atReset = ^link.RowsOpen
)

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

// noteQueried notes that a query has been sent: an error may still come with its rows.
func (c *Conn) noteQueried(plan *rewrite.Plan) {
	if c.Rare.Any(link.Detached) && c.detached.putOff(func() { c.noteQueried(plan) }) {
		return
	}
	if c.Engine.Watcher == nil {
		c.Tx.Doubt()
	}
	c.Rare.Set(link.RowsOpen)
	if plan.Effects&rewrite.TxControl != 0 && !single(plan.SQL) {
		// Of several statements the later ones may run with their rows, or fail.
		if !c.Idle() {
			c.Tx.Fail()
			c.noteTxDoubt()
		}
	}
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

// Plan returns the plan of a statement: from the cache, or made now. Facts that it needs are read from the database.
func (c *Conn) Plan(ctx context.Context, query string) (*plan, error) {
	if !c.Rare.Any(atPlan) && c.Ready() {
		if p, _ := c.Schema.Plans.Get(query).(*plan); p != nil && (!p.untouched || p.clears == c.Shared.Untouched.Clears()) {
			return p, nil
		}
	}
	news := c.Shared.Noticed.News.Load()
	p, err := c.findPlan(ctx, query)
	catalog.See(&c.View, news)
	return p, err
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *Conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Parent.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// IsValid implements driver.Validator.
func (c *Conn) IsValid() bool {
	if c.Rare.Any(link.Broken|link.Detached) && lost(c) {
		return false
	}
	v, ok := c.Parent.(driver.Validator)
	return !ok || v.IsValid()
}

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(ctx context.Context) error {
	rare := c.Rare.Any(atReset)
	if rare && lost(c) {
		return driver.ErrBadConn
	}
	if rare {
		c.forgetUser()
	}
	if c.Rare.Any(link.RowsOpen) {
		c.Rare.Clear(link.RowsOpen)
	}
	if r, ok := c.Parent.(driver.SessionResetter); ok {
		if err := r.ResetSession(ctx); err != nil {
			return err
		}
	}
	if rare && c.Shared.Shadow != nil {
		if c.Shared.Shadow.CatchUp(ctx, c); lost(c) {
			return driver.ErrBadConn
		}
	}
	return nil
}

// lost reports whether the connection cannot be used, or not yet.
func lost(c *Conn) bool { return c.Rare.Any(link.Broken) || c.detached.running() }

// forgetUser forgets the state of the previous user of the session. That user, or a hook, may have changed its settings.
func (c *Conn) forgetUser() {
	hooked := c.Rare.Any(link.HookedResets | link.Lent)
	if hooked || c.Rare.Any(atPlan) || !c.Tx.None() || !c.history.blank() || !c.Facts.Settled() {
		if hooked {
			c.Hooked()
		}
		if c.Rare.Any(link.InsertIDOwed) {
			c.Rare.Set(link.InsertIDPooled)
			c.Rare.Clear(link.InsertIDOwed)
		}
		if c.Tx.Reset(c.Idle()) {
			c.noteTxEnd()
		} else {
			c.noteTxDoubt()
		}
	}
	c.Rare.Clear(link.Lent)
	c.Rare.Put(link.TxNoted, !c.Tx.None())
}

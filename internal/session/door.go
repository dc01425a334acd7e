package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
)

var (
	_ driver.SessionResetter   = (*Conn)(nil)
	_ driver.Validator         = (*Conn)(nil)
	_ driver.NamedValueChecker = (*Conn)(nil)
)

// The door: what database/sql calls for each use of a session, and for each statement before that is sent. What is rare about a session
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

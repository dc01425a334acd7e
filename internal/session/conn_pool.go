package session

import (
	"context"
	"database/sql/driver"
)

var (
	_ driver.SessionResetter = (*Conn)(nil)
	_ driver.Validator       = (*Conn)(nil)
	_ driver.Pinger          = (*Conn)(nil)
)

// Ping implements driver.Pinger.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.detached.await(ctx); err != nil {
		return err
	}
	if p, ok := c.Parent.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.Broken || c.detached.running() {
		return driver.ErrBadConn
	}
	r, resets := c.Parent.(driver.SessionResetter)
	if hooked := resets && c.Shared.ParentHooks.Reset; hooked || !c.ordinary() || !c.Tx.None() || !c.history.blank() ||
		!c.Facts.Settled(c.Origin.RoleUnknown()) {
		c.reset(hooked || c.Origin.Lent())
	}
	c.Origin.Reset()
	if resets {
		if err := r.ResetSession(ctx); err != nil {
			return err
		}
	}
	c.LookHereIfDue(ctx)
	if c.Shared.Shadow != nil {
		c.Shared.Shadow.CatchUp(ctx, c)
	}
	if c.Broken {
		return driver.ErrBadConn
	}
	return nil
}

// reset forgets the state of the previous user of the session. If hooked, a hook or that user may have changed its settings.
func (c *Conn) reset(hooked bool) {
	if hooked {
		c.Hooked()
	}
	c.insertID.reset()
	if c.Tx.Reset(c.Idle()) {
		c.noteTxEnd()
	} else {
		c.noteTxDoubt()
	}
}

// IsValid implements driver.Validator.
func (c *Conn) IsValid() bool {
	if c.Broken || c.detached.running() {
		return false
	}
	if v, ok := c.Parent.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

var (
	_ driver.Conn   = (*Conn)(nil)
	_ driver.Pinger = (*Conn)(nil)
)

// Conn is one wrapped connection. Like every driver.Conn it is used by one
// goroutine at a time.
type Conn struct {
	catalog.View
	Shared  *Shared
	node    *slots.Node // the cluster node that it is connected to
	slot    int         // its number among the live connections of the connector
	history             // of the open transaction

	several  uint64 // bit n: the parent takes calls of several statements with n placeholders and arguments
	insertID int64  // where one is owed: see insertid.go
	led      int    // how many shared statements this connection has run
	detached detached
	spares   spares

	closed bool // database/sql may close a connection twice
}

// WrapConn wraps a parent's connection without a look at the database.
func WrapConn(s *Shared, parent driver.Conn) *Conn {
	c := &Conn{View: *catalog.NewView(s.Catalog, parent), Shared: s, node: &s.placement.Home}
	c.detached.rare = c.Rare
	return c
}

// OwnConn wraps a connection that folds slots. On a cluster it learns which node it is on, to find
// out later whether its transaction is still there: see link/guard.go.
func OwnConn(ctx context.Context, s *Shared, parent driver.Conn) *Conn {
	c := WrapConn(s, parent)
	c.learnNode(ctx)
	return c
}

// OpenOwn opens a connection that folds slots, and has it wait for a lock for a few seconds at
// most.
func OpenOwn(ctx context.Context, s *Shared) (*Conn, error) {
	raw, err := s.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	c := OwnConn(ctx, s, raw)
	if err := c.LimitLockWaits(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// NewConn wraps a parent's connection for the application. If it fails, the parent's connection is
// closed: at once, or by the goroutine that still reads the catalog on it.
func NewConn(ctx context.Context, s *Shared, parent driver.Conn) (*Conn, error) {
	if err := s.LearnServer(ctx, parent); err != nil {
		_ = parent.Close()
		return nil, err
	}
	c := OwnConn(ctx, s, parent)
	if len(s.Tables) > 0 {
		if err := c.RequireTxState(ctx); err != nil {
			_ = parent.Close()
			return nil, err
		}
		if lent, err := c.LearnAtOpen(ctx); err != nil {
			if !lent {
				_ = parent.Close()
			}
			return nil, err
		}
	}
	if s.ParentHooks.Opening {
		c.Hooked()
	}
	_, resets := parent.(driver.SessionResetter)
	c.Rare.Put(link.HookedResets, resets && s.ParentHooks.Reset)
	c.Rare.Put(link.CatchesUp, s.Shadow != nil)
	c.Rare.Put(link.Unshared, !s.Sharing)
	c.slot = s.numbers.Take()
	c.awaitLease(ctx)
	return c, nil
}

// Unwrap returns the parent driver's own connection, for sql.Conn.Raw. slotsql does not see
// statements sent through it, so from then on this session shares no statement with other
// sessions. Until database/sql has the connection back it is asked before each statement on
// counter tables which tables its names mean.
func (c *Conn) Unwrap() driver.Conn {
	c.detached.attach()
	c.Settings.Change()
	c.Rare.Set(link.Lent)
	c.Tx.Doubt()
	return c.Parent
}

// busy is Busy while no other goroutine uses the connection. Open rows make a connection busy, and so may a caller of Conn.Raw: see
// mayBeBusy.
func (c *Conn) busy() bool { return !c.detached.running() && c.Busy() }

// Raw is Unwrap under the name that some libraries look for.
func (c *Conn) Raw() driver.Conn { return c.Unwrap() }

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

// Close implements driver.Conn.
func (c *Conn) Close() error {
	if c.detached.running() {
		// Only the statement still uses the connection.
		go func() {
			c.detached.attach()
			_ = c.Close()
		}()
		return nil
	}
	if !c.closed {
		c.closed = true
		c.Shared.numbers.Free(c.slot)
		c.release()
		c.Kept.Close()
	}
	return c.Parent.Close()
}

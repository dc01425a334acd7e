package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/slots"
)

var _ driver.Conn = (*Conn)(nil)

// Conn is one wrapped connection. Like every driver.Conn it is used by one
// goroutine at a time.
type Conn struct {
	catalog.View
	Shared  *Shared
	node    *slots.Node // the cluster node that it is connected to
	slot    int         // its number among the live connections of the connector
	history             // of the open transaction

	insertID owedInsertID
	led      int // how many shared statements this connection has run
	detached detached
	spares   spares

	closed bool // database/sql may close a connection twice
}

// WrapConn wraps a parent's connection without a look at the database.
func WrapConn(s *Shared, parent driver.Conn) *Conn {
	return &Conn{View: *catalog.NewView(s.Catalog, parent), Shared: s, node: &s.placement.Home}
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
	c.slot = s.numbers.Take()
	c.awaitLease(ctx)
	return c, nil
}

// peers identifies the sessions with which this one may share statements: those on the same node
// with the same facts, for which names mean the same tables.
func (c *Conn) peers() int64 { return int64(c.node.Number)<<40 | c.Schema.Number() }

// Unwrap returns the parent driver's own connection, for sql.Conn.Raw. slotsql does not see
// statements sent through it, so from then on this session shares no statement with other
// sessions. Until database/sql has the connection back it is asked before each statement on
// counter tables which tables its names mean.
func (c *Conn) Unwrap() driver.Conn {
	c.detached.attach()
	c.Origin.Lend()
	c.Tx.Doubt()
	return c.Parent
}

// busy is Busy while no other goroutine uses the connection. Open rows make a connection busy, and so may a caller of Conn.Raw.
func (c *Conn) busy() bool {
	return (c.Origin.RowsOpen() || c.Origin.Lent()) && !c.detached.running() && c.Busy()
}

// Raw is Unwrap under the name that some libraries look for.
func (c *Conn) Raw() driver.Conn { return c.Unwrap() }

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

package slotsql

import (
	"context"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// database is what the connections of one connector have in common as links: the
// dialect of their server, and how another one is opened.
type database struct {
	dialect  dialect.Dialect
	traits   rewrite.Traits                             // of the dialect
	dial     func(context.Context) (driver.Conn, error) // opens the parent's connections; nil: nobody can
	connect  func(context.Context) (driver.Conn, error) // the same, where facts may be read aside; nil: they may not
	patience time.Duration
	sharing  bool        // sessions may share a statement: see dialect.SessionAware
	single   atomic.Bool // the server is in no cluster

	meeting sync.Mutex // held while the first connection meets its server
	met     bool
}

// meet lets the dialect learn what depends on the server, once, before any
// connection uses it.
func (db *database) meet(ctx context.Context, parent driver.Conn) error {
	db.meeting.Lock()
	defer db.meeting.Unlock()
	if db.met {
		return nil
	}
	c := newLink(db, parent)
	if d, ok := db.dialect.(dialect.ServerAware); ok {
		adjusted, err := d.ForServer(ctx, c.session())
		if err != nil {
			return err
		}
		db.dialect, db.traits = adjusted, adjusted.Traits()
	}
	if d, ok := db.dialect.(dialect.SessionAware); ok {
		var err error
		if db.sharing, err = d.Shares(ctx, c.session()); err != nil {
			return err
		}
	}
	db.met = true
	return nil
}

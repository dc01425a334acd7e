package link

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Database is what the links of one connector have in common: the dialect of their server, and how
// to open another connection.
type Database struct {
	Dialect dialect.Dialect
	Traits  rewrite.Traits                             // of the dialect
	Dial    func(context.Context) (driver.Conn, error) // opens the parent's connections; nil: there is no way to
	// OpensAside reports whether a statement of the application may have side connections opened.
	OpensAside  bool
	Patience    time.Duration
	Sharing     bool // sessions may share a statement: see dialect.SessionAware
	ParentHooks ParentHooks
	single      atomic.Bool  // the server is not part of a cluster
	abandoned   atomic.Int32 // calls that have not returned in time: see WithContext

	meeting chan struct{} // has an element while a connection meets the server
	known   bool          // one has
}

// ParentHooks is when code of the application, in the parent's connector, may change a session. The
// sessions of a connector that has such code may differ.
type ParentHooks struct {
	Opening bool // when the connector opens it
	Reset   bool // each time a pool gives it out again
}

// Any reports whether there is any such code.
func (h ParentHooks) Any() bool { return h.Opening || h.Reset }

// NewDatabase returns what is known of a database before the first connection.
func NewDatabase(d dialect.Dialect) Database {
	return Database{Dialect: d, Traits: d.Traits(), Patience: EndPatience, Sharing: true, meeting: make(chan struct{}, 1)}
}

// LearnServer lets the dialect learn what depends on the server, once, before any connection is
// used.
func (db *Database) LearnServer(ctx context.Context, parent driver.Conn) error {
	select {
	case db.meeting <- struct{}{}:
		defer func() { <-db.meeting }()
	case <-ctx.Done(): // the first connection may hang
		return ctx.Err()
	}
	if db.known {
		return nil
	}
	c := New(db, parent)
	if d, ok := db.Dialect.(dialect.ServerAware); ok {
		adjusted, err := d.ForServer(ctx, c.Session())
		if err != nil {
			return err
		}
		db.Dialect, db.Traits = adjusted, adjusted.Traits()
	}
	if d, ok := db.Dialect.(dialect.SessionAware); ok {
		var err error
		if db.Sharing, err = d.Shares(ctx, c.Session()); err != nil {
			return err
		}
	}
	db.known = true
	return nil
}

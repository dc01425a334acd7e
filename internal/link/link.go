package link

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/dialect"
)

// Conn is a parent's connection as slotsql's own statements use it: it sends them, classes their
// errors, and knows whether a transaction is open. A connection that slotsql opens for itself is
// no more than that; a connection of the application is a Conn with more added.
//
// Like every driver.Conn it is used by one goroutine at a time.
type Conn struct {
	DB           *Database
	Parent       driver.Conn
	Engine       Engine
	Cluster      bool // its server may be one of several nodes
	Kept         Kept
	PreparesArgs bool     // the parent takes arguments through prepared statements only
	Unprepared   bool     // the parent took the last query unprepared, its arguments as well
	Opening      []string // what each transaction of slotsql's own runs first
	Age          Age      // of one of slotsql's own

	Rare     *Rare
	Settings Settings
	Tx       Tx
	Drain    Drain

	timeouts int // lock timeouts in a row on a cluster, see Retry
	yield    yielding
}

// ErrBroken is returned by every statement after the one in which the connection was lost, or in
// whose transaction half a fold is left. ErrRolledBack is returned instead of committing that transaction.
var (
	ErrBroken     = errors.New("slotsql: the statement was not sent, because the connection cannot be used any more after an earlier error")
	ErrRolledBack = errors.New("slotsql: the transaction was rolled back, because its connection cannot be used any more after an earlier error")
)

// New wraps a parent's connection without querying the database.
func New(db *Database, parent driver.Conn) Conn {
	e := EngineOf(db.Dialect)
	if w, ok := e.Watcher.(dialect.SelectiveTxWatcher); ok && !w.Watches(parent) {
		e.Watcher = nil
	}
	rare := new(Rare)
	return Conn{DB: db, Parent: parent, Engine: e, Rare: rare, Settings: Settings{rare: rare}, Tx: Tx{rare: rare}}
}

// RequireTxState returns an error if neither the parent nor the server reports whether a session
// is in a transaction: a drain would end one of the application's. The session has just been
// opened.
func (c *Conn) RequireTxState(ctx context.Context) error {
	if c.Engine.Watcher != nil || c.DB.Traits.OneWriter {
		return nil
	}
	if _, ok := c.DB.Dialect.(dialect.SelectiveTxWatcher); !ok {
		return nil
	}
	open, err := c.DB.Dialect.InTransaction(ctx, c.Session())
	if err != nil {
		return err
	}
	if open {
		return errors.New("slotsql: a connection of the parent driver is in a transaction when it is opened")
	}
	return nil
}

// LearnNode returns which node of a cluster the connection is on. If the server is not part of a
// cluster, only the first connection of a connector asks. If the server does not say, the name is
// "", and all nodes are taken for one, which only costs speed.
func (c *Conn) LearnNode(ctx context.Context) (name string) {
	d, ok := c.DB.Dialect.(dialect.ClusterAware)
	if !ok || c.DB.single.Load() {
		return ""
	}
	name, err := d.Node(ctx, c.Session())
	c.Cluster = err != nil || name != ""
	switch {
	case err != nil:
		return ""
	case name == "":
		c.DB.single.Store(true)
	}
	return name
}

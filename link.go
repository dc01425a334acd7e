package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

// link is a parent's connection as slotsql's own statements use it: it sends them,
// knows the classes of their errors, and whether a transaction is open. A connection
// that slotsql opens for itself is no more than that; one of the application's is a
// link to which the rest is added.
//
// Like every driver.Conn it is used by one goroutine at a time.
type link struct {
	db       *database
	parent   driver.Conn
	engine   engine
	cluster  bool // it is on a node that may be one of several
	prepared preparedTexts
	prepares bool     // the parent takes arguments through prepared statements only
	opening  []string // what a transaction of slotsql's own runs first

	tx        txState
	ours      bool // the transaction is a drain's own
	sighted   bool // which may have a snapshot already
	lasting   bool // what a statement locks may stay locked after it: a transaction may be open
	untouched bool // nothing has been run since a transaction was begun
	halfway   bool // a fold has failed between two of its statements
	// draining says that a drain is under way, or the text that follows it.
	draining bool
	guarded  bool // and its transaction was there after the last preparation
	strayed  bool // the session may not be as the connector opened it
	reading  bool // rows may be open
	broken   bool // not to be used again: see lost
}

// errBroken is returned for what comes after the statement in which the
// connection was lost, or in whose transaction half a fold is left.
var errBroken error = &lostError{"the connection is out of use"}

// newLink wraps a parent's connection without a look at the database.
func newLink(db *database, parent driver.Conn) link {
	return link{db: db, parent: parent, engine: engineOf(db.dialect)}
}

// learnNode finds out which node of a cluster the connection is on, once for each:
// only the first connection of a connector asks where the server is in no cluster.
// Where that cannot be told the name is "", and they are all taken for one, which
// costs speed and nothing else.
func (c *link) learnNode(ctx context.Context) (name string) {
	d, ok := c.db.dialect.(dialect.ClusterAware)
	if !ok || c.db.single.Load() {
		return ""
	}
	name, err := d.Node(ctx, c.session())
	c.cluster = err != nil || name != ""
	switch {
	case err != nil:
		return ""
	case name == "":
		c.db.single.Store(true)
	}
	return name
}

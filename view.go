package slotsql

import (
	"context"
	"database/sql/driver"
)

// view is a link that sees the database's tables as its session does: by the facts
// of its namespace, and with the changes that it has made itself and that nobody
// else sees yet.
type view struct {
	link
	catalog    *catalog
	prefetched *prefetched // while a schema is made

	schema  *schema // facts of the session's namespace; nil until they are needed
	moved   bool    // the namespace may have changed since schema was set
	private bool    // the facts are this session's own: see changed
	temp    bool    // and stay so: it may have temporary tables
	altered bool    // it has changed the schema in a transaction that may be open
	adrift  bool    // or its namespace, which may change back with that one's end

	// roleSet says that the role may be another than the one that the session began
	// with; otherRole, that it may be another than the one whose rights are known.
	roleSet, otherRole bool
}

// newView wraps a parent's connection without a look at the database.
func newView(c *catalog, parent driver.Conn) *view {
	return &view{link: newLink(&c.database, parent), catalog: c}
}

// ownView wraps a connection that folds slots: on a node of a cluster it looks
// whether its transaction is still there, see guard.go.
func ownView(ctx context.Context, c *catalog, parent driver.Conn) *view {
	v := newView(c, parent)
	v.learnNode(ctx)
	return v
}

// asConnected says that the session is as the connector opens it, outside a
// transaction, and without open rows. Two such sessions do the same with the
// same statement.
func (c *view) asConnected() bool {
	return c.ordinary() && !c.reading && !c.lasting && c.inAutocommit()
}

// ordinary says that any connection of the connector sees the same database.
func (c *view) ordinary() bool {
	return !c.altered && !c.private && !c.moved && !c.temp && !c.strayed && c.db.sharing
}

// setup opens a connection of the parent for slotsql's own statements.
func setup(ctx context.Context, c *catalog) (*view, error) {
	raw, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	v := ownView(ctx, c, raw)
	if _, err := c.dialect.Namespace(ctx, v.session()); err != nil { // refuses sessions it cannot serve
		_ = raw.Close()
		return nil, err
	}
	return v, nil
}

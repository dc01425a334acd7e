package catalog

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
)

// View is a connection that sees the database's tables as its session does: by the facts of its
// namespace, and with the changes that the session has made itself and no other session sees yet.
type View struct {
	link.Conn
	Catalog    *Catalog
	prefetched *prefetched // while a schema is made

	Schema *Schema  // facts of the session's namespace; nil until they are needed
	Facts  Currency // of Schema
}

// know makes sc what the session knows of its namespace.
func (v *View) know(sc *Schema) {
	v.Schema = sc
	v.Facts.Read()
}

// NewView wraps a parent's connection without querying the database.
func NewView(c *Catalog, parent driver.Conn) *View {
	return &View{Conn: link.New(&c.Database, parent), Catalog: c}
}

// NewOwnView wraps a connection that folds slots. On a cluster it learns which node it is on, to
// find out later whether its transaction is still there: see link/guard.go.
func NewOwnView(ctx context.Context, c *Catalog, parent driver.Conn) *View {
	v := NewView(c, parent)
	v.LearnNode(ctx)
	return v
}

// AsConnected reports whether the session is as the connector opened it, outside a transaction,
// and without open rows. The same statement does the same in any two such sessions.
func (v *View) AsConnected() bool {
	return v.Ordinary() && !v.Origin.RowsOpen() && !v.Tx.KeepsLocks() && v.InAutocommit()
}

// Ordinary reports whether any connection of the connector sees the same database.
func (v *View) Ordinary() bool { return v.Facts.Common() && v.replaceable() }

// readsAsOthers reports whether any connection of the connector, if it read the facts now, would
// read what this session would.
func (v *View) readsAsOthers() bool { return v.Facts.Shared() && v.replaceable() }

// replaceable reports whether the session's settings and database are those of every connection of
// the connector.
func (v *View) replaceable() bool { return !v.Origin.Dirty() && v.DB.Sharing }

// OpenView opens a connection of the parent for slotsql's own statements.
func OpenView(ctx context.Context, c *Catalog) (*View, error) {
	raw, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	v := NewOwnView(ctx, c, raw)
	if _, err := c.Dialect.Namespace(ctx, v.Own()); err != nil { // refuses sessions it cannot serve
		_ = raw.Close()
		return nil, err
	}
	return v, nil
}

package catalog

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
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
	seen   seen
	asked  dialect.Namespace // what the session has last said

	sees *string // the server, and as what the session sees it; "": not known; nil: not asked
}

// Hooked notes that code outside slotsql may have changed the session: a hook of the connector, or
// whoever has been given the parent's connection. Before it is used for anything that depends on
// it, the session is asked.
func (v *View) Hooked() {
	v.Settings.Hook()
	v.Facts.MoveNamespace(!v.Committed())
	if v.Rare.Any(link.Lent) && v.Catalog.Traits.TempUnlisted {
		v.Facts.ChangeTables(true)
	}
}

// namespace asks the session which tables its names mean, and whether its settings are those of
// the connector's first session. The query is so short that it needs no other limits than the
// application's statements, which might cost further round trips.
func (v *View) namespace(ctx context.Context) (string, error) {
	ns, err := v.Catalog.Dialect.Namespace(ctx, v.Session())
	if err != nil {
		return "", err
	}
	if v.asked != ns && v.asked != (dialect.Namespace{}) {
		v.Kept.Expire()
	}
	v.asked = ns
	v.Catalog.mu.Lock()
	settings := v.Catalog.Home.settings
	v.Catalog.mu.Unlock()
	v.Settings.Compare(ns.Settings == settings)
	return ns.Names, nil
}

// know makes sc what the session knows of its namespace.
func (v *View) know(sc *Schema) {
	v.Schema = sc
	v.Facts.Read()
}

// NewView wraps a parent's connection without querying the database.
func NewView(c *Catalog, parent driver.Conn) *View {
	v := &View{Conn: link.New(&c.Database, parent), Catalog: c}
	v.Facts.rare = v.Rare
	return v
}

// NewOwnView wraps a connection that folds slots. On a cluster it learns which node it is on, to
// find out later whether its transaction is still there: see link/guard.go.
func NewOwnView(ctx context.Context, c *Catalog, parent driver.Conn) *View {
	v := NewView(c, parent)
	v.LearnNode(ctx)
	return v
}

// Ordinary reports whether any connection of the connector sees the same database.
func (v *View) Ordinary() bool { return v.Facts.Common() && v.ordinary() && !v.DB.ParentHooks.Any() }

// readsAsOthers reports whether any connection of the connector, if it read the facts now, would
// read what this session would, unless a hook has made it another.
func (v *View) readsAsOthers() bool {
	return !v.Rare.Any(ownFacts) && v.ordinary()
}

// ordinary reports whether the session's settings are those with which the connector opens
// connections, and its database is no other's.
func (v *View) ordinary() bool { return !v.Rare.Any(link.ChangedSettings) && v.DB.Sharing }

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

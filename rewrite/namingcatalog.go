package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A NamingCatalog is a Catalog that finds the names of its tables in a statement by one
// look-up per word.
type NamingCatalog interface {
	names.Catalog
	// Named returns what a statement may name.
	Named(sql string) Named
}

// Named is what a statement may name of a catalog: those of its tables and views whose names
// occur in the statement, and the tables of those views.
type Named struct {
	Counters, Holders, Grouped []*schema.Table
	Views                      []View
}

// narrowed returns the planner of the tables that a statement may name, so that what it costs
// to plan the statement does not depend on how many there are; nil when it can name none.
func (pl *Planner) narrowed(sql string) *Planner {
	c, ok := pl.Catalog.(NamingCatalog)
	if !ok || len(sql) > maxPlanned || lex.EscapedNames(pl.Dialect.LexRules(), sql) {
		return pl
	}
	n := c.Named(sql)
	if len(n.Counters)+len(n.Holders)+len(n.Grouped)+len(n.Views) == 0 {
		return nil
	}
	return &Planner{Dialect: pl.Dialect, Catalog: namedCatalog{pl.Catalog, n}, sentinels: pl.sentinels}
}

// namedCatalog is a catalog without the tables that a statement does not name. A table that
// another name means is found by Lookup as ever.
type namedCatalog struct {
	names.Catalog
	named Named
}

var (
	_ HolderCatalog = namedCatalog{}
	_ GroupCatalog  = namedCatalog{}
	_ viewCatalog   = namedCatalog{}
)

// Counters implements Catalog.
func (c namedCatalog) Counters() []*schema.Table { return c.named.Counters }

// Holders implements HolderCatalog.
func (c namedCatalog) Holders() []*schema.Table { return c.named.Holders }

// Grouped implements GroupCatalog.
func (c namedCatalog) Grouped() []*schema.Table { return c.named.Grouped }

// Moves implements MovingCatalog.
func (c namedCatalog) Moves(sql string) bool {
	m, ok := c.Catalog.(MovingCatalog)
	return ok && m.Moves(sql)
}

// Views implements viewCatalog.
func (c namedCatalog) Views() []View { return c.named.Views }

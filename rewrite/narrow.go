package rewrite

// A NamingCatalog is a Catalog that finds the names of its tables in a statement by one
// look-up per word.
type NamingCatalog interface {
	Catalog
	// Named returns what a text may name.
	Named(text string) Named
}

// Named is what a text may name of a catalog: those of its tables and views whose names
// occur in the text, and the tables of those views.
type Named struct {
	Counters, Holders, Grouped []*Table
	Views                      []View
}

// narrowed returns the planner of the tables that a text may name, so that what it costs
// to plan the text does not depend on how many there are; nil when it can name none.
func (pl *Planner) narrowed(text string) *Planner {
	c, ok := pl.Catalog.(NamingCatalog)
	if !ok || len(text) > maxPlanned || EscapedNames(pl.Dialect.Lexis(), text) {
		return pl
	}
	n := c.Named(text)
	if len(n.Counters)+len(n.Holders)+len(n.Grouped)+len(n.Views) == 0 {
		return nil
	}
	return &Planner{Dialect: pl.Dialect, Catalog: namedCatalog{pl.Catalog, n}}
}

// namedCatalog is a catalog without the tables that a text does not name. A table that
// another name means is found by Lookup as ever.
type namedCatalog struct {
	Catalog
	named Named
}

var (
	_ HolderCatalog = namedCatalog{}
	_ GroupCatalog  = namedCatalog{}
	_ viewCatalog   = namedCatalog{}
)

// Counters implements Catalog.
func (c namedCatalog) Counters() []*Table { return c.named.Counters }

// Holders implements HolderCatalog.
func (c namedCatalog) Holders() []*Table { return c.named.Holders }

// Grouped implements GroupCatalog.
func (c namedCatalog) Grouped() []*Table { return c.named.Grouped }

// Views implements viewCatalog.
func (c namedCatalog) Views() []View { return c.named.Views }

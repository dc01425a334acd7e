package rewrite

// A View is a view, at whatever depth, over counter tables. Its query reads
// base values, so a statement that names it is drained for.
type View struct {
	Name   string
	Tables []*Table
}

// viewCatalog is a Catalog that knows views.
type viewCatalog interface {
	// Views returns the views over counter tables.
	Views() []View
}

func (pl *Planner) views() []View {
	if c, ok := pl.Catalog.(viewCatalog); ok {
		return c.Views()
	}
	return nil
}

// viewed returns the counter tables of the views whose names occur in the
// statement, and one such view.
func (p *planning) viewed() (tables []*Table, view string) {
	for _, v := range p.views() {
		named := (p.src.exec || p.src.large) && containsFold(p.src.text, Spelled(v.Name))
		for _, tok := range p.src.tokens {
			named = named || p.tokenNames(tok, v.Name)
		}
		if named {
			tables, view = append(tables, v.Tables...), v.Name
		}
	}
	return tables, view
}

package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A View is a view, at whatever depth, over counter tables, or a routine that
// the configuration says touches them. What it does is done inside the
// database, on base values, so a statement that names the view, or calls the
// routine, is drained for.
type View struct {
	Name    string
	Tables  []*schema.Table
	Routine bool // a procedure or function
	// Part reports whether it is a part of the table, such as a partition, which
	// statements may name in its stead. DDL on it is that on any table.
	Part bool
	// Ancestor reports whether it is a table that the counter table is a
	// partition of or inherits from: what a statement does to it, it does to rows of both.
	Ancestor bool
}

// viewCatalog is a Catalog that knows views.
type viewCatalog interface {
	// Views returns the views over counter tables.
	Views() []View
}

func views(catalog names.Catalog) []View {
	if c, ok := catalog.(viewCatalog); ok {
		return c.Views()
	}
	return nil
}

// viewed returns the counter tables of the views whose names occur in the
// statement, and of the routines that it calls, and says which is one of them.
func (mt *mentions) viewed() (tables []*schema.Table, why string) {
	for _, v := range views(mt.catalog) {
		named := (mt.src.exec || mt.src.large) && lex.ContainsFold(mt.src.sql, lex.Spelled(v.Name))
		for i, tok := range mt.src.tokens {
			named = named || mt.tokenNames(tok, v.Name) && (!v.Routine || called(mt.src, i))
		}
		switch {
		case !named || v.Part && definesTable(mt.src):
			continue
		case v.Part:
			why = "table " + v.Name + " is a part of a counter table"
		case v.Ancestor:
			why = "a counter table is a part of table " + v.Name
		case v.Routine:
			why = "routine " + v.Name + " touches a counter table"
		default:
			why = "view " + v.Name + " reads a counter table"
		}
		tables = append(tables, v.Tables...)
	}
	return tables, why
}

// planViewed plans a statement that names views, or calls routines.
func (p *planning) planViewed(tables []*schema.Table, why string) *Plan {
	pl := p.drains.drainAll(tables, why)
	routines := slices.ContainsFunc(tables, func(t *schema.Table) bool { return len(t.Counter.Options.Routines) > 0 })
	if !routines && !p.src.namesOwn() {
		if st, err := parse(p.d, p.pl.sentinels, p.src.sql); err == nil {
			pl.Read.Observed = p.observed(st, tables, nil)
		}
	}
	return pl
}

// definesTable reports whether the statement is DDL.
func definesTable(src *source) bool {
	for _, word := range []string{"ALTER", "CREATE", "DROP", "TRUNCATE", "RENAME", "COMMENT", "GRANT", "REVOKE"} {
		if src.is(0, word) {
			return true
		}
	}
	return false
}

// called reports whether a token that is a routine's name stands where one is
// called: before an argument list, behind CALL, or inside a string.
func called(src *source, i int) bool {
	if k := src.tokens[i].Kind; k == lex.String || k == lex.Bad {
		return true
	}
	if src.is(i+1, "(") {
		return true
	}
	for ; i >= 2 && src.is(i-1, "."); i -= 2 { // CALL schema.name
	}
	return src.is(i-1, "CALL")
}

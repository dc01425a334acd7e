package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file is about values that are looked up in a query whose source is a query of totals, v NOT IN (SELECT d.id FROM (SELECT
// id, views FROM posts) d WHERE d.views > 5). MySQL may run it for each v, find the rows of d by what is compared, and lose the
// other conditions: it then has no rows. Of a row that is compared with a column selected twice it may compare one of the two
// only. IN over a table is right, whose totals stand in the conditions.

// lookedUp returns an error for an expression whose second argument is such a subquery; edited reports whether
// a total has been written into it.
func (b *blockReader) lookedUp(e *ast.Expr, edited bool) error {
	sub := e.Args[1]
	if sub == nil || sub.Kind != ast.Subquery || sub.Query == nil || e.Kind != ast.In && !(e.Kind == ast.Opaque && len(e.Args) == 2) {
		return nil
	}
	if edited && isRow(e.Args[0]) || b.overTotals(sub.Query, edited) {
		return names.Opaque("a value is looked up in a query of totals: MySQL may lose a condition")
	}
	return nil
}

// overTotals reports whether a query may have a source that is a query of totals: one written in its FROM, if
// a total has been written into it, a derived form, or a WITH query.
func (b *blockReader) overTotals(q *ast.Select, edited bool) bool {
	if slices.ContainsFunc(q.Operands, func(o *ast.Select) bool { return b.overTotals(o, edited) }) {
		return true
	}
	var source func(s *ast.Source) bool
	source = func(s *ast.Source) bool {
		if s == nil {
			return false
		}
		_, derived := b.p.names.Derived[s]
		with := len(s.Name) == 1 && len(b.r.edits) > 0 && (len(q.With) > 0 || b.p.names.CTE(b.sc, s.Name) != nil)
		return derived || with || edited && s.Select != nil || source(s.Left) || source(s.Right)
	}
	return slices.ContainsFunc(q.From, source)
}

package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file is about rows that are compared with a subquery, (a, b) IN (SELECT
// ...): MariaDB refuses one that holds a subquery itself, as a total does, and
// may crash where it was prepared.

// isRow reports whether an expression is a row of several values. What is no row
// but looks like one is not wrong: the statement then takes the slow way.
func isRow(e *ast.Expr) bool {
	for e.Kind == ast.Paren && len(e.Args) == 1 {
		e = e.Args[0]
	}
	return e.Kind == ast.Opaque && len(e.Args) > 1 && (e.Op == "" || strings.EqualFold(e.Op, "row"))
}

// mayMerge reports whether a name may mean a column of a query in FROM, which the
// engine may replace by the expression that it is there.
func (b *blockReader) mayMerge() bool {
	for _, x := range names.AllOf(b.sc) {
		if x.Query != nil || x.Derived && !b.p.queries.separate[x.Source] {
			return true
		}
	}
	return false
}

// separateRow asks for derived forms of the sources whose counters a row names,
// and for all derived forms not to be merged: their columns are columns then,
// and the row is as it was. Inside other queries MariaDB may lose the comparison
// over such a table.
func (b *blockReader) separateRow(row *ast.Expr) error {
	d := &names.DeriveError{Reason: "a row that may hold a counter is compared with a subquery", Separate: true}
	if b.q == nil || b.q != b.p.main() {
		return names.Opaque(d.Reason)
	}
	for _, x := range names.AllOf(b.sc) {
		if x.Query != nil {
			return names.Opaque(d.Reason)
		}
		if x.Derived && !b.p.queries.separate[x.Source] {
			d.Bindings = append(d.Bindings, x)
		}
	}
	row.Walk(func(e *ast.Expr) bool {
		if e.Kind == ast.ColumnRef {
			if t, err := b.p.names.Resolve(b.sc, e.Name); err == nil && names.IsCounterTarget(t) && t.Binding.Counts {
				d.Bindings = append(d.Bindings, t.Binding)
			}
		}
		return true
	})
	if len(d.Bindings) == 0 {
		return names.Opaque(d.Reason)
	}
	return d
}

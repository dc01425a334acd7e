package rewrite

import (
	"slices"
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
	return slices.ContainsFunc(names.AllOf(b.sc), func(x *names.Binding) bool { return x.Query != nil || x.Derived })
}

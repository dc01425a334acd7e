package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// A form for rows without slots is sent before it is known whether a row has any. Where the
// row has some, the form is evaluated with a base value in place of the total. Nothing that
// comes of it is used, but an error would be one that the plain statement does not have (100 / n
// where n is 5 and the base value 0), and on PostgreSQL it ends the transaction.

// cannotFail reports whether an expression has a value for every row: it is made of columns, and of what
// is the same for all rows, by operators that have one for all values.
func cannotFail(e *ast.Expr) bool {
	x := ast.Unparen(e)
	if namesOnly(x, func([]ast.Ident) bool { return false }, nil) || nullTest(x) != nil {
		return true
	}
	switch x.Kind {
	case ast.ColumnRef, ast.Star, ast.In:
	case ast.Binary:
		if x.Op != "AND" && x.Op != "OR" && !comparison[x.Op] {
			return false
		}
	case ast.Unary:
		if x.Op != "NOT" {
			return false
		}
	case ast.Call:
		if x.Op != "coalesce" {
			return false
		}
	case ast.Opaque:
		if !isRow(x) && !equalFold(x.Op, "between") {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(x.Args, func(a *ast.Expr) bool { return !cannotFail(a) })
}

package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// A counter IS NULL when its base value is, whatever the slots hold: a total is
// base value plus slots, and NULL plus anything is NULL; what the slots hold is
// never NULL. So a condition that asks no more than that, such as WHERE c IS
// NOT NULL beside an increment, reads the base row and nothing else.

// nullTest returns the column that e asks whether it is NULL, or nil.
func nullTest(e *ast.Expr) *ast.Expr {
	var x *ast.Expr
	switch op := strings.ToUpper(e.Op); {
	case e.Kind == ast.Opaque && len(e.Args) == 1 && (op == "IS NULL" || op == "ISNULL" || op == "NOTNULL" || op == "NOT NULL"):
		x = e.Args[0]
	case len(e.Args) == 2 && (op == "IS" || op == "IS NOT") && e.Args[1] != nil && e.Args[1].Kind == ast.Null:
		x = e.Args[0]
	}
	if x == nil {
		return nil
	}
	if x = ast.Unparen(x); x.Kind != ast.ColumnRef {
		return nil
	}
	return x
}

// nullAsBase reports whether a column which is asked whether it is NULL is a counter
// of a table that stands in the statement as it is.
func (b *blockReader) nullAsBase(t *names.Target) bool {
	return !t.Binding.Derived && t.Binding.Table.IsCounter(t.Column.Name)
}

// Package merge tells from a value that a statement gives to a column how a companion would merge
// it. It is for the command and for tests; programs that import slotsql do not link it.
package merge

import "github.com/slotsql/slotsql/rewrite"

// Of is the merge that a value of a column asks for beside an increment; ""
// where a slot cannot take it.
func Of(d rewrite.Dialect, e *rewrite.Expr, column string) rewrite.Merge {
	if e == nil {
		return ""
	}
	if e.Kind == rewrite.Call && len(e.Args) == 2 && Reads(d, e, column) {
		switch e.Op {
		case "greatest", "max":
			return rewrite.Max
		case "least", "min":
			return rewrite.Min
		}
	}
	free := true
	e.Walk(func(x *rewrite.Expr) bool {
		free = free && x.Kind != rewrite.ColumnRef && x.Kind != rewrite.Subquery
		return free
	})
	if !free {
		return ""
	}
	return rewrite.Latest
}

// Reads reports whether an expression names the column, subqueries aside.
func Reads(d rewrite.Dialect, e *rewrite.Expr, column string) bool {
	found := false
	e.Walk(func(x *rewrite.Expr) bool {
		found = found || x.Kind == rewrite.ColumnRef && len(x.Name) > 0 && d.SameColumn(x.Name[len(x.Name)-1], column)
		return !found
	})
	return found
}

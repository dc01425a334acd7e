package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file looks into what the engine computes of a row that it stores: generated columns and
// indexes. The engine refuses a row for which that fails (100 / (n - 5)), or for which the value
// does not fit its column. It computes the row that a group leaves, and not those that its members
// would have left one after another. What has one direction, as n has, lies for these between
// the first and the last, and so does not fail if it has not failed for either.

// computedFrom names what is computed from a counter and may fail for a value that a group passes over.
func (cc checkConstraints) computedFrom(counter string) string {
	for i := range cc.g.real.Storage.Computed {
		c := &cc.g.real.Storage.Computed[i]
		if (slices.Contains(c.Columns, counter) || cc.readsComputed(c.Columns)) && !cc.neverFails(c) {
			return c.Name + " is computed from counter " + counter + ", and may refuse a number between two that it takes"
		}
	}
	return ""
}

// neverFails reports whether what is computed fails for no value between two for which it does not fail.
func (cc checkConstraints) neverFails(c *schema.Computed) bool {
	e, in := cc.condition(c.SQL)
	switch {
	case e == nil:
		return false
	case !checksOf(in).readsCounted(e):
		return true
	case c.Column == "":
		return cannotFail(e) || checksOf(in).oneWay(e)
	}
	t := cc.g.m.table.Column(c.Column)
	return t != nil && t.Domain == "" && (t.Numeric != schema.NotNumeric || t.Type == "boolean") && checksOf(in).oneWay(e)
}

// computes names what the engine computes from a column and may fail for some value of it.
func (cc checkConstraints) computes(column string) string {
	for i := range cc.g.real.Storage.Computed {
		c := &cc.g.real.Storage.Computed[i]
		if e, _ := cc.condition(c.SQL); slices.Contains(c.Columns, column) && (c.Column != "" || e == nil || !cannotFail(e)) {
			return c.Name
		}
	}
	return ""
}

// oneWay reports whether the value of an expression only rises, only falls, or stays as it is while members
// add to counters, and is NULL for all of them or for none.
func (cc checkConstraints) oneWay(e *ast.Expr) bool {
	e = ast.Unparen(e)
	if !cc.readsCounted(e) {
		return cc.same(e)
	}
	switch {
	case e.Kind == ast.ColumnRef:
		return cc.g.countedIn(e) != "" // and not computed from one
	case e.Kind == ast.Unary && (e.Op == "-" || e.Op == "+"):
		return cc.oneWay(e.Args[0])
	case e.Kind == ast.Binary && len(e.Args) == 2:
		l, r := e.Args[0], e.Args[1]
		if !comparison[e.Op] && e.Op != "+" && e.Op != "-" && e.Op != "*" || e.Op == "=" || e.Op == "<>" || e.Op == "!=" || e.Op == "" {
			return false
		}
		return cc.oneWay(l) && cc.same(r) || cc.same(l) && cc.oneWay(r)
	case e.Kind == ast.Call && e.Op == "coalesce" && len(e.Args) == 2:
		return cc.oneWay(e.Args[0]) && cc.same(e.Args[1])
	}
	return false
}

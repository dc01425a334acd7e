package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file looks into what the engine computes of a row that it stores: generated columns and
// indexes. The engine refuses a row for which that fails (100 / (n - 5)), or for which the value
// does not fit its column. It computes the row that a group leaves, and not those that its members
// would have left one after another. What has one direction, as n has, lies for these between
// the first and the last, and so does not fail if it has not failed for either.

// computedFrom names what is computed from a counter and may fail for a value that a group passes over.
func (g *grouper) computedFrom(counter string) string {
	for i := range g.real.Storage.Computed {
		c := &g.real.Storage.Computed[i]
		if (contains(c.Columns, counter) || g.readsComputed(c.Columns)) && !g.neverFails(c) {
			return c.Name + " is computed from counter " + counter + ", and may refuse a number between two that it takes"
		}
	}
	return ""
}

// neverFails reports whether what is computed fails for no value between two for which it does not fail.
func (g *grouper) neverFails(c *Computed) bool {
	e, in := g.condition(c.SQL)
	switch {
	case e == nil:
		return false
	case !in.readsCounted(e):
		return true
	case c.Column == "":
		return cannotFail(e) || in.oneWay(e)
	}
	t := g.table.Column(c.Column)
	return t != nil && t.Domain == "" && (t.Numeric != NotNumeric || t.Type == "boolean") && in.oneWay(e)
}

// computes names what the engine computes from a column and may fail for some value of it.
func (g *grouper) computes(column string) string {
	for i := range g.real.Storage.Computed {
		c := &g.real.Storage.Computed[i]
		if e, _ := g.condition(c.SQL); contains(c.Columns, column) && (c.Column != "" || e == nil || !cannotFail(e)) {
			return c.Name
		}
	}
	return ""
}

// oneWay reports whether the value of an expression only rises, only falls, or stays as it is while members
// add to counters, and is NULL for all of them or for none.
func (g *grouper) oneWay(e *ast.Expr) bool {
	e = ast.Unparen(e)
	if !g.readsCounted(e) {
		return g.same(e)
	}
	switch {
	case e.Kind == ast.ColumnRef:
		return g.countedIn(e) != "" // and not computed from one
	case e.Kind == ast.Unary && (e.Op == "-" || e.Op == "+"):
		return g.oneWay(e.Args[0])
	case e.Kind == ast.Binary && len(e.Args) == 2:
		l, r := e.Args[0], e.Args[1]
		if !comparison[e.Op] && e.Op != "+" && e.Op != "-" && e.Op != "*" || e.Op == "=" || e.Op == "<>" || e.Op == "!=" || e.Op == "" {
			return false
		}
		return g.oneWay(l) && g.same(r) || g.same(l) && g.oneWay(r)
	case e.Kind == ast.Call && e.Op == "coalesce" && len(e.Args) == 2:
		return g.oneWay(e.Args[0]) && g.same(e.Args[1])
	}
	return false
}

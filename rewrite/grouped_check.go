package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file looks into CHECK constraints. A group passes over the values that its members
// would have stored one after another; the engine checks the last one, and has checked the
// first. What lies between the two satisfies a condition that holds for an interval of
// numbers; of other conditions that is not known.

// checked names a constraint that keeps a counter out of groups.
func (g *grouper) checked(counter string) string {
	if !contains(g.real.Checked, counter) && !g.checkedThrough(counter) {
		return ""
	}
	why := "a CHECK constraint of counter " + counter + " may hold for two numbers and not for those between"
	if n := g.counts[g.share(counter)]; n.coalesced && n.column.Nullable {
		return why // where it is NULL, the number that it is taken for has not been checked
	}
	known := false
	for _, k := range g.real.Checks {
		if !contains(k.Columns, counter) && !g.readsComputed(k.Columns) {
			continue
		}
		known = true
		e, in := g.condition(k.SQL)
		if e == nil || !in.interval(e) {
			return why
		}
	}
	if !known {
		return why
	}
	return ""
}

// checkedThrough reports whether a constraint uses what is computed from a counter.
func (g *grouper) checkedThrough(counter string) bool {
	for i := range g.table.Columns {
		if c := &g.table.Columns[i]; c.Generated && contains(c.DependsOn, counter) && contains(g.real.Checked, c.Name) {
			return true
		}
	}
	return false
}

func (g *grouper) readsComputed(columns []string) bool {
	for _, c := range columns {
		if g.counted[c] {
			return true
		}
	}
	return false
}

// condition reads the condition of a constraint; in is the group, with names as there.
func (g *grouper) condition(sql string) (e *ast.Expr, in *grouper) {
	if sql == "" {
		return nil, nil
	}
	query := "SELECT 1 FROM " + g.d.Quote(g.table.Name) + " WHERE " + sql
	st, err := g.d.Parse(query)
	if err != nil || st.Opaque != "" || st.Select == nil || st.Select.Where == nil {
		return nil, nil
	}
	here := *g
	m := *g.dml
	m.planning = &planning{Planner: g.Planner, d: g.d, src: newSource(g.d.LexRules(), query)}
	here.dml = &m
	return st.Select.Where, &here
}

// interval reports whether a condition that holds for two values of a counter holds for
// all between them, whatever the other columns are, as long as they stay as they are.
func (g *grouper) interval(e *ast.Expr) bool {
	e = ast.Unparen(e)
	if !g.readsCounted(e) || nullTest(e) != nil {
		return true // an increment changes nothing about NULL
	}
	switch {
	case e.Kind == ast.Binary && e.Op == "AND" && len(e.Args) == 2:
		return g.interval(e.Args[0]) && g.interval(e.Args[1])
	case e.Kind == ast.Binary && e.Op == "OR" && len(e.Args) == 2:
		l, r := e.Args[0], e.Args[1]
		if g.same(r) {
			l, r = r, l
		}
		return g.same(l) && g.interval(r)
	case e.Kind == ast.Binary && len(e.Args) == 2 && turned[e.Op] != "":
		l, r := e.Args[0], e.Args[1]
		if g.countedIn(l) == "" {
			l, r = r, l
		}
		return g.shifted(l) && g.same(r)
	case e.Kind == ast.Opaque && g.isBetween(e):
		return g.shifted(e.Args[0]) && g.same(e.Args[1]) && g.same(e.Args[2])
	}
	return false
}

// readsCounted reports whether an expression reads a counter, or what is computed from it.
func (g *grouper) readsCounted(e *ast.Expr) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef {
			found = found || g.counted[g.targetColumn(g.sc, g.target, x.Name)]
		}
		return !found
	})
	return found
}

// same reports whether an expression is the same for all members.
func (g *grouper) same(e *ast.Expr) bool {
	return nullTest(ast.Unparen(e)) != nil || g.unlike(e, none) == ""
}

// shifted reports whether an expression is a counter, or one plus or minus what is the same for all.
func (g *grouper) shifted(e *ast.Expr) bool {
	if _, ok := g.shift(e); ok {
		return true
	}
	name := g.countedIn(e)
	if name == "" {
		return false
	}
	ops, ok := g.additive(g.sc, e, g.table, name)
	for _, op := range ops {
		ok = ok && !op.sometimes && op.expr != nil && g.same(op.expr)
	}
	return ok
}

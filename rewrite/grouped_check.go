package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// This file looks into CHECK constraints. A group passes over the values that its members
// would have stored one after another; the engine checks the last one, and has checked the
// first. What lies between the two satisfies a condition that holds for an interval of
// numbers; of other conditions that is not known.

// checkConstraints reads the CHECK constraints of a group's table, and its generated columns.
type checkConstraints struct {
	g *grouper
	p *planning
}

// checked names a constraint that keeps a counter out of groups.
func (c checkConstraints) checked(counter string) string {
	if !slices.Contains(c.g.real.Checked, counter) && !c.checkedThrough(counter) {
		return ""
	}
	why := "a CHECK constraint of counter " + counter + " may hold for two numbers and not for those between"
	if n := c.g.counts[c.g.share(counter)]; n.coalesced && n.column.Nullable {
		return why // where it is NULL, the number that it is taken for has not been checked
	}
	known := false
	for _, k := range c.g.real.Checks {
		if !slices.Contains(k.Columns, counter) && !c.readsComputed(k.Columns) {
			continue
		}
		known = true
		e, in := c.condition(k.SQL)
		if e == nil || !(checkConstraints{in, in.p}).interval(e) {
			return why
		}
	}
	if !known {
		return why
	}
	return ""
}

// checkedThrough reports whether a constraint uses what is computed from a counter.
func (ch checkConstraints) checkedThrough(counter string) bool {
	for i := range ch.g.m.table.Columns {
		if c := &ch.g.m.table.Columns[i]; c.Generated && slices.Contains(c.DependsOn, counter) && slices.Contains(ch.g.real.Checked, c.Name) {
			return true
		}
	}
	return false
}

func (ch checkConstraints) readsComputed(columns []string) bool {
	for _, c := range columns {
		if ch.g.counted[c] {
			return true
		}
	}
	return false
}

// condition reads the condition of a constraint; in is the group, with names as there.
func (c checkConstraints) condition(sql string) (e *ast.Expr, in *grouper) {
	if sql == "" {
		return nil, nil
	}
	query := "SELECT 1 FROM " + c.p.d.Quote(c.g.m.table.Name) + " WHERE " + sql
	st, err := c.p.d.Parse(query)
	if err != nil || st.Opaque != "" || st.Select == nil || st.Select.Where == nil {
		return nil, nil
	}
	here := *c.g
	m := *c.g.m
	m.p = newPlanning(c.p.pl, newSource(c.p.d.LexRules(), query))
	here.p, here.m = m.p, &m
	return st.Select.Where, &here
}

// interval reports whether a condition that holds for two values of a counter holds for
// all between them, whatever the other columns are, as long as they stay as they are.
func (c checkConstraints) interval(e *ast.Expr) bool {
	e = ast.Unparen(e)
	if !c.readsCounted(e) || nullTest(e) != nil {
		return true // an increment changes nothing about NULL
	}
	switch {
	case e.Kind == ast.Binary && e.Op == "AND" && len(e.Args) == 2:
		return c.interval(e.Args[0]) && c.interval(e.Args[1])
	case e.Kind == ast.Binary && e.Op == "OR" && len(e.Args) == 2:
		l, r := e.Args[0], e.Args[1]
		if c.same(r) {
			l, r = r, l
		}
		return c.same(l) && c.interval(r)
	case e.Kind == ast.Binary && len(e.Args) == 2 && turned[e.Op] != "":
		l, r := e.Args[0], e.Args[1]
		if c.g.countedIn(l) == "" {
			l, r = r, l
		}
		return c.shifted(l) && c.same(r)
	case e.Kind == ast.Opaque && c.g.isBetween(e):
		return c.shifted(e.Args[0]) && c.same(e.Args[1]) && c.same(e.Args[2])
	}
	return false
}

// readsCounted reports whether an expression reads a counter, or what is computed from it.
func (c checkConstraints) readsCounted(e *ast.Expr) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef {
			found = found || c.g.counted[c.p.names.TargetColumn(c.g.m.sc, c.g.m.target, x.Name)]
		}
		return !found
	})
	return found
}

// same reports whether an expression is the same for all members.
func (c checkConstraints) same(e *ast.Expr) bool {
	return nullTest(ast.Unparen(e)) != nil || c.g.unlike(e, none) == ""
}

// shifted reports whether an expression is a counter, or one plus or minus what is the same for all.
func (c checkConstraints) shifted(e *ast.Expr) bool {
	if _, ok := (groupGuards{c.g, c.p}).shift(e); ok {
		return true
	}
	name := c.g.countedIn(e)
	if name == "" {
		return false
	}
	ops, ok := c.p.additive(c.g.m.sc, e, c.g.m.table, name)
	for _, op := range ops {
		ok = ok && !op.sometimes && op.expr != nil && c.same(op.expr)
	}
	return ok
}

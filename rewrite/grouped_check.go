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

func checksOf(g *grouper) checkConstraints { return checkConstraints{g, g.p} }

// checked names a constraint that keeps a counter out of groups.
func (cc checkConstraints) checked(counter string) string {
	through := cc.checkedThrough(counter)
	if !slices.Contains(cc.g.real.Checked, counter) && !through {
		return ""
	}
	why := "a CHECK constraint of counter " + counter + " may hold for two numbers and not for those between"
	if n := cc.g.counts[cc.g.share(counter)]; through || n.coalesced && n.column.Nullable {
		return why // where it is NULL, the number that it is taken for has not been checked
	}
	known := false
	for _, k := range cc.g.real.Checks {
		if !slices.Contains(k.Columns, counter) {
			continue
		}
		known = true
		e, in := cc.condition(k.SQL)
		if e == nil || !checksOf(in).interval(e) {
			return why
		}
	}
	if !known {
		return why
	}
	return ""
}

// checkedThrough reports whether a constraint uses what is computed from a counter.
func (cc checkConstraints) checkedThrough(counter string) bool {
	for i := range cc.g.m.table.Columns {
		if c := &cc.g.m.table.Columns[i]; c.Generated && slices.Contains(c.DependsOn, counter) && slices.Contains(cc.g.real.Checked, c.Name) {
			return true
		}
	}
	return false
}

// condition reads the condition of a constraint; in is the group, with names as there.
func (cc checkConstraints) condition(sql string) (e *ast.Expr, in *grouper) {
	if sql == "" {
		return nil, nil
	}
	query := "SELECT 1 FROM " + cc.p.d.Quote(cc.g.m.table.Name) + " WHERE " + sql
	st, err := cc.p.d.Parse(query)
	if err != nil || st.Opaque != "" || st.Select == nil || st.Select.Where == nil {
		return nil, nil
	}
	here := *cc.g
	m := *cc.g.m
	m.p = newPlanning(cc.p.pl, newSource(cc.p.d.LexRules(), query))
	here.p, here.m = m.p, &m
	return st.Select.Where, &here
}

// interval reports whether a condition that holds for two values of a counter holds for
// all between them, whatever the other columns are, as long as they stay as they are.
func (cc checkConstraints) interval(e *ast.Expr) bool {
	e = ast.Unparen(e)
	counter := func(e *ast.Expr) bool { return ast.Unparen(e).Kind == ast.ColumnRef && cc.g.countedIn(e) != "" }
	same := func(e *ast.Expr) bool { return cc.g.unlike(e, none) == "" }
	switch {
	case !cc.readsCounted(e) || nullTest(e) != nil:
		return true // an increment changes nothing about NULL
	case e.Kind == ast.Binary && e.Op == "AND" && len(e.Args) == 2:
		return cc.interval(e.Args[0]) && cc.interval(e.Args[1])
	case e.Kind == ast.Binary && len(e.Args) == 2 && turned[e.Op] != "":
		return counter(e.Args[0]) && same(e.Args[1]) || same(e.Args[0]) && counter(e.Args[1])
	case e.Kind == ast.Opaque && cc.g.isBetween(e):
		return counter(e.Args[0]) && same(e.Args[1]) && same(e.Args[2])
	}
	return false
}

// isBetween reports whether e is x BETWEEN a AND b, and no more than that.
func (g *grouper) isBetween(e *ast.Expr) bool {
	if len(e.Args) != 3 || !equalFold(e.Op, "between") || e.Negated || g.countedIn(e.Args[1]) != "" || g.countedIn(e.Args[2]) != "" {
		return false
	}
	for i, t := range g.p.src.tokens {
		if t.Start >= e.Args[0].End {
			for g.p.src.is(i, ")") {
				i++
			}
			return g.p.src.is(i, "BETWEEN") && !g.p.src.is(i+1, "SYMMETRIC")
		}
	}
	return false
}

// readsCounted reports whether an expression reads a counter, or what is computed from it.
func (cc checkConstraints) readsCounted(e *ast.Expr) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef {
			found = found || cc.g.counted[cc.p.names.TargetColumn(cc.g.m.sc, cc.g.m.target, x.Name)]
		}
		return !found
	})
	return found
}

package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans RETURNING of a group. A member's own row is the group's with what the
// members after it have added taken off its counters; all else in it is the same for
// every member.

// returning finds out what each column of RETURNING is.
func (g *grouper) returning() string {
	for _, it := range g.m.st.Returning {
		if it.Expr == nil {
			return "RETURNING is of a form that slotsql does not analyze"
		}
		if it.Expr.Kind == ast.Star {
			if why := g.returnsAll(it.Expr); why != "" {
				return "RETURNING " + why
			}
			continue
		}
		i, why := g.returns(it)
		if why != "" {
			return "RETURNING " + why
		}
		g.group.Returns = append(g.group.Returns, i)
	}
	return ""
}

// returnsAll is RETURNING *.
func (g *grouper) returnsAll(star *ast.Expr) string {
	if len(star.Name) > 0 && !g.p.names.SameLabel(star.Name[len(star.Name)-1], g.m.target.Label) {
		return "names another table"
	}
	for i := range g.m.table.Columns {
		c := &g.m.table.Columns[i]
		if c.Hidden {
			continue
		}
		if why := g.returnsColumn(c.Name); why != "" {
			return why
		}
		g.group.Returns = append(g.group.Returns, g.share(c.Name)+1)
	}
	g.group.Stars = []*schema.Table{g.real}
	return ""
}

// returnsColumn names why a column is not the same for all members, nor a counter.
func (g *grouper) returnsColumn(name string) string {
	if g.real.Triggers.Update {
		return "returns what a trigger may change"
	}
	if g.counted[name] && g.share(name) < 0 {
		return "returns " + name + ", which is computed from a counter"
	}
	g.returned[name] = true
	for _, d := range g.m.table.Column(name).DependsOn {
		g.returned[d] = true
	}
	return ""
}

// returns returns the share, from 1, whose counter an item is, 0 for one that is the
// same for all members.
func (g *grouper) returns(it ast.Item) (share int, why string) {
	if g.p.consts.namedByPlaceholder(it) {
		return 0, "has a column that is named by its placeholders"
	}
	name := g.countedIn(it.Expr)
	if name == "" {
		it.Expr.Walk(func(x *ast.Expr) bool {
			if x.Kind == ast.ColumnRef && why == "" {
				if c := g.p.names.TargetColumn(g.m.sc, g.m.target, x.Name); c != "" {
					why = g.returnsColumn(c)
				}
			}
			return why == ""
		})
		if why == "" {
			why = g.unlike(it.Expr, func(c string) bool { return !g.counted[c] })
		}
		return 0, why
	}
	if why := g.returnsColumn(name); why != "" {
		return 0, why
	}
	n := &g.counts[g.share(name)]
	ops, ok := g.p.additive(g.m.sc, it.Expr, g.m.table, name)
	for _, op := range ops {
		d, simple := g.p.consts.deltaOf(n.column, []operand{op})
		if ok = ok && simple && !strings.Contains(d.literal, "."); ok {
			g.used(n.column, op.expr, d)
		}
	}
	switch c := g.counterIn(it.Expr); {
	case !ok || len(ops) > 0 && n.column.Numeric != schema.Integer || castsCounter(g, it.Expr):
		return 0, "computes with counter " + name
	case c.Kind == ast.Call && n.column.Nullable && !n.coalesced:
		return 0, "takes counter " + name + " for a number where it is NULL"
	}
	return g.share(name) + 1, ""
}

// castsCounter reports whether a counter is cast, so that what is returned has another type.
func castsCounter(g *grouper, e *ast.Expr) (found bool) {
	e.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.Opaque && g.countedIn(x) != ""
		return !found
	})
	return found
}

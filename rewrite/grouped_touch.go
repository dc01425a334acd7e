package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file plans the group of a touch: an UPDATE of one row that sets nothing but touched
// columns, to values that do not depend on the row. Executions that overlap may run in any
// order, one after another, and of that order only the last one's values are left. So the
// statement of the last one stands for all. What excludes columns from it otherwise (a unique
// key, a reference, a CHECK) excludes different values for them as it does beside an
// increment: see free.

// touches reports whether the statement is a touch.
func (g *grouper) touches() bool {
	for _, a := range g.m.st.Set {
		name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1])
		if !has || !slices.Contains(g.m.table.Counter.Touch, name) {
			return false
		}
	}
	return len(g.m.st.Set) > 0
}

// unchanged writes the statement with each column set to what it has. Where the engine counts
// the rows that a statement has changed, executions have to agree on what they set: one that
// repeats another one's values affects no row, and of different values only the engine knows
// whether it stores them as different.
func unchanged(g *grouper) *Bound {
	var edits []edit
	for _, a := range g.assigns {
		if a.value == nil {
			return nil
		}
		edits = append(edits, edit{a.value.Span, g.reference(a.column)})
	}
	b := g.tp.expand(g.p.d, g.tp.expandSQL(g.tp.mark(g.p.src.cutEdited(ast.Span{Start: 0, End: len(g.p.src.sql)}, edits))))
	return &b
}

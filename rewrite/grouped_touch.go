package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/names"
)

// This file plans the group of a touch: an UPDATE of one row that sets nothing but touched columns, to values that do not depend on the
// row. Executions that overlap may run in any order, one after another, and of that order only the last one's values are left. So the
// statement of the last one stands for all. What excludes columns from it otherwise (a unique key, a reference, a CHECK) excludes
// different values for them as it does beside an increment: see free.

// touches finds out whether the statement is a touch.
func (g *grouper) touches() {
	if len(g.m.st.Set) == 0 {
		return
	}
	for _, a := range g.m.st.Set {
		name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1])
		if !has || !slices.Contains(g.m.table.Counter.Touch, name) {
			return
		}
	}
	g.group.Touch = true
}

// alikeTouched reports whether executions have to agree on what they set. Where the engine counts the rows that a statement has changed,
// one that repeats another one's values affects none, and of different values only the engine knows whether it stores them as different.
func (g *grouper) alikeTouched() bool { return g.group.Touch && g.p.d.Traits().CountsChanged }

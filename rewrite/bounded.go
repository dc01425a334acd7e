package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file finds statements whose guards a part of the total may prove.
//
// Slots of a counter with a lower bound are never negative, no matter which process has written them and
// whether or not that is committed. So the base value alone is at most the total, and where
// it satisfies c >= k, under the lock that the statement itself takes, the total does, too,
// whatever happens to the slots: the application's own statement is exact on the base row.
// Where it affects no row nothing is known, and the row is drained. With an upper bound it is
// the mirror image.

// Bounded is the form of a guarded statement that may run on the base row before anything
// is drained: when it affects a row it is done.
type Bounded struct {
	// Row drains the row.
	Row DrainTable
	// Key is what the key's columns equal; nil where the row is fixed otherwise.
	Key []KeyValue
	// NotNumber and Forms are what arguments have to be for the statement to meet one row,
	// as in Increment.
	NotNumber []Arg
	Forms     []FormArg
	// Own is what runs on the base row in the place of the application's SQL, where that has
	// clamps (clamp.go): with a guard for each. It is nil elsewhere.
	Own *Bound
	// Portion is the form that takes from a slot, for a row that transactions wait for; nil
	// where there is none.
	Portion *Portion
}

// A boundedForm writes the forms of a guarded statement.
type boundedForm struct {
	g *grouper
	p *planning
}

// planBounded adds to the plan of a drain the form that the base row may decide.
func (b boundedForm) planBounded(plan *Plan) {
	if plan.Class != Drain || len(plan.Drain.Tables) != 1 || !b.proves() {
		return
	}
	row := plan.Drain.Tables[0]
	if !row.Keyed && !b.g.real.Counter.Single() || row.New != nil || row.Table != b.g.real {
		return
	}
	plan.Bounded = &Bounded{Row: row, Key: b.g.rows.slotKey(b.g.real), NotNumber: b.g.group.NotNumber, Forms: row.Forms}
	b.planPortion(plan.Bounded)
}

// proves reports whether the base row alone may decide: the statement looks at no counter
// but by guards that are harder for the base value to satisfy than for the total.
func (b boundedForm) proves() bool {
	if len(b.g.group.Guards) == 0 || b.g.group.InsertID > 0 || len(b.g.m.st.Returning) > 0 {
		return false
	}
	for _, guard := range b.g.group.Guards {
		side := b.g.real.Counter.Side(b.g.counts[guard.Share].column.Name)
		if guard.AtLeast && side != schema.NeverNegative || !guard.AtLeast && side != schema.NeverPositive {
			return false
		}
	}
	for i := range b.g.counts {
		if b.g.counts[i].coalesced && b.g.counts[i].column.Nullable {
			return false
		}
	}
	free := !b.readsSlotted(b.g.m.st.Where, true)
	for _, a := range b.g.m.st.Set {
		name, _ := names.Column(b.p.d, b.g.m.table, a.Column[len(a.Column)-1])
		free = free && (b.g.share(name) >= 0 || !b.readsSlotted(a.Value, false))
	}
	return free
}

// readsSlotted reports whether an expression reads a column whose newest value may be in
// slots; guards reports whether the counters of the statement's guards are none.
func (b boundedForm) readsSlotted(e *ast.Expr, guards bool) bool {
	if e == nil {
		return false
	}
	c, found := b.g.real.Counter, false
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef {
			name := b.p.names.TargetColumn(b.g.m.sc, b.g.m.target, x.Name)
			found = found || name == "" || slices.Contains(c.Counters, name) && (!guards || b.g.share(name) < 0) || b.g.real.Companion(name) != nil
		}
		return !found
	})
	return found
}

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

func boundedOf(g *grouper) boundedForm { return boundedForm{g, g.p} }

// planBounded adds to the plan of a drain the form that the base row may decide.
func (bf boundedForm) planBounded(plan *Plan) {
	if plan.Class != Drain || len(plan.Drain.Tables) != 1 || !bf.proves() {
		return
	}
	row := plan.Drain.Tables[0]
	if !row.Keyed && !bf.g.real.Counter.Single() || row.New != nil || row.Table != bf.g.real {
		return
	}
	plan.Bounded = &Bounded{Row: row, Key: bf.g.rows.slotKey(bf.g.real), NotNumber: bf.g.group.NotNumber, Forms: row.Forms}
	bf.planPortion(plan.Bounded)
}

// proves reports whether the base row alone may decide: the statement looks at no counter
// but by guards that are harder for the base value to satisfy than for the total.
func (bf boundedForm) proves() bool {
	if len(bf.g.group.Guards) == 0 || bf.g.group.InsertID > 0 || len(bf.g.m.st.Returning) > 0 {
		return false
	}
	for _, guard := range bf.g.group.Guards {
		side := bf.g.real.Counter.Side(bf.g.counts[guard.Share].column.Name)
		if guard.AtLeast && side != schema.NeverNegative || !guard.AtLeast && side != schema.NeverPositive {
			return false
		}
	}
	for i := range bf.g.counts {
		if bf.g.counts[i].coalesced && bf.g.counts[i].column.Nullable {
			return false
		}
	}
	free := !bf.readsSlotted(bf.g.m.st.Where, true)
	for _, a := range bf.g.m.st.Set {
		name, _ := names.Column(bf.p.d, bf.g.m.table, a.Column[len(a.Column)-1])
		free = free && (bf.g.share(name) >= 0 || !bf.readsSlotted(a.Value, false))
	}
	return free
}

// readsSlotted reports whether an expression reads a column whose newest value may be in
// slots; guards reports whether the counters of the statement's guards are none.
func (bf boundedForm) readsSlotted(e *ast.Expr, guards bool) bool {
	if e == nil {
		return false
	}
	c, found := bf.g.real.Counter, false
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef {
			name := bf.p.names.TargetColumn(bf.g.m.sc, bf.g.m.target, x.Name)
			found = found || name == "" || slices.Contains(c.Counters, name) && (!guards || bf.g.share(name) < 0) || bf.g.real.Companion(name) != nil
		}
		return !found
	})
	return found
}

package rewrite

import (
	"math"
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file holds what the INSERT of each member gives for a counter against what the column
// takes. The engine sees the row of the whole group, and the plain statements would have
// proposed one row for each member, whether a row is there or not.

// newRowTakes names why a new row of one of the members might be refused, or stored otherwise.
func (ug upsertGrouper) newRowTakes(c *schema.Column, given *ast.Expr, first delta) string {
	checked := slices.Contains(ug.g.real.Checked, c.Name) || checksOf(ug.g).checkedThrough(c.Name)
	if !c.Unsigned && !checked {
		return ""
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if checked {
		var ok bool
		if low, high, ok = ug.checkedRange(c); !ok {
			return "a CHECK constraint of counter " + c.Name + " applies to a new row, too"
		}
	}
	arg, why := ug.p.consts.checkInserted(c, given)
	switch {
	case why != "":
		return why
	case arg != nil:
		arg.Low, arg.High = max(arg.Low, low), min(arg.High, uint64(max(high, 0)))
		ug.g.group.Inserted = append(ug.g.group.Inserted, *arg)
		return ""
	}
	ug.p.consts.noted(first.literal)
	if n, ok := ug.g.literalUnits(c, first); !ok || n < low || n > high {
		return "a CHECK constraint refuses what the INSERT gives for counter " + c.Name
	}
	return ""
}

// checkedRange returns the numbers that the CHECK constraints of an integer counter allow, where
// they compare it with whole numbers and nothing else.
func (ug upsertGrouper) checkedRange(c *schema.Column) (low, high int64, ok bool) {
	low, high = math.MinInt64, math.MaxInt64
	if c.Numeric != schema.Integer || checksOf(ug.g).checkedThrough(c.Name) {
		return low, high, false
	}
	for _, k := range ug.g.real.Checks {
		if !slices.Contains(k.Columns, c.Name) {
			continue
		}
		e, in := checksOf(ug.g).condition(k.SQL)
		if e == nil {
			return low, high, false
		}
		ok = true
		for _, part := range ast.Conjuncts(e, nil) {
			if !upsertOf(in).narrows(c, ast.Unparen(part), &low, &high) {
				return low, high, false
			}
		}
	}
	return low, high, ok && low <= high && high >= 0
}

// narrows takes a comparison of a counter with a whole number into the range of its numbers.
func (ug upsertGrouper) narrows(c *schema.Column, e *ast.Expr, low, high *int64) bool {
	if e.Kind != ast.Binary || len(e.Args) != 2 || turned[e.Op] == "" {
		return false
	}
	l, r, op := ast.Unparen(e.Args[0]), ast.Unparen(e.Args[1]), e.Op
	if l.Kind != ast.ColumnRef {
		l, r, op = r, l, turned[op]
	}
	if l.Kind != ast.ColumnRef || ug.p.names.TargetColumn(ug.g.m.sc, ug.g.m.target, l.Name) != c.Name {
		return false
	}
	d, ok := ug.p.consts.simpleDelta([]operand{{expr: r}})
	if !ok || d.literal == "" {
		return false
	}
	n, ok := ug.g.literalUnits(c, d)
	switch op {
	case ">":
		*low = max(*low, n+1)
	case ">=":
		*low = max(*low, n)
	case "<":
		*high = min(*high, n-1)
	case "<=":
		*high = min(*high, n)
	}
	return ok
}

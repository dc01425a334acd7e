package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file finds clamps: SET values that are counter plus something as long as the result
// stays on one side of a limit, which the statement says itself.
//
//	c = GREATEST(c - ?, 0)
//	c = CASE WHEN c >= ? THEN c - ? ELSE 0 END
//
// Where the total is far from the limit they are decrements with a guard: c - ? >= 0, c >= ?.
// So the statement with that guard in its WHERE may run where guarded statements may, on the
// base row and in slots. Where that affects no row the row is drained, and the total decides.

// planClamp adds to the plan of a drain the form in which each clamp is a guard.
func (m *dml) planClamp(plan *Plan) {
	if plan.Class != Drain || m.st.Where == nil || len(m.st.From) > 0 {
		return
	}
	st := *m.st
	st.Set = append([]ast.Assignment(nil), m.st.Set...)
	var implied []*ast.Expr
	for i := range st.Set {
		name, has := names.Column(m.p.d, m.table, st.Set[i].Column[len(st.Set[i].Column)-1])
		if !has || !m.table.IsCounter(name) || st.Set[i].Value == nil {
			continue
		}
		sum, guard := m.clamped(ast.Unparen(st.Set[i].Value), name)
		if guard != nil {
			st.Set[i].Value = sum
			implied = append(implied, guard)
		}
	}
	if len(implied) == 0 {
		return
	}
	for _, e := range implied {
		st.Where = &ast.Expr{Span: m.st.Where.Span, Kind: ast.Binary, Op: "AND", Args: []*ast.Expr{st.Where, e}}
	}
	own := *m
	own.st = &st
	g := newGrouper(&own)
	g.implied = implied
	if !g.increments() || !g.ofOneRow() || g.plan() != "" {
		return
	}
	if boundedOf(g).planBounded(plan); plan.Bounded == nil {
		return
	}
	var tp template
	end := m.st.Where.End
	f := g.p.src.cutEdited(ast.Span{Start: 0, End: m.st.Where.Start}, nil)
	sql := tp.mark(f) + tp.mark(g.conditions(nil)) + tp.mark(g.p.src.cut(ast.Span{Start: end, End: len(g.p.src.sql)}))
	plan.Bounded.Own = tp.bound(g.p.d, sql)
}

// clamped reads a clamp: what the value is as long as the guard holds; nil for what is no clamp.
func (m *dml) clamped(e *ast.Expr, column string) (sum, guard *ast.Expr) {
	isSum := func(x *ast.Expr) bool {
		ops, ok := m.p.additive(m.sc, x, m.table, column)
		return ok && len(ops) == 1
	}
	if op := m.p.consts.extreme(e); op != "" {
		for i, x := range e.Args {
			if isSum(x) && ast.Constant(e.Args[1-i]) {
				return x, &ast.Expr{Span: e.Span, Kind: ast.Binary, Op: op, Args: []*ast.Expr{x, e.Args[1-i]}}
			}
		}
		return nil, nil
	}
	when, then, other := choice(e)
	if when == nil || when.Kind != ast.Binary || len(when.Args) != 2 || turned[when.Op] == "" {
		return nil, nil
	}
	switch {
	case isSum(then):
		return then, when
	case isSum(other):
		// The comparison is of numbers: where it is NULL this one is, too, and proves nothing.
		return other, &ast.Expr{Span: when.Span, Kind: ast.Binary, Op: opposite[when.Op], Args: when.Args}
	}
	return nil, nil
}

// extreme returns the comparison that the greater, or the lesser, of two values implies for
// the one that it is; "" for another expression.
func (cs *constants) extreme(e *ast.Expr) string {
	greatest, least := "greatest", "least"
	if cs.d.Traits().ScalarMax {
		greatest, least = "max", "min"
	}
	switch {
	case e.Kind != ast.Call || len(e.Args) != 2:
	case e.Op == greatest:
		return ">="
	case e.Op == least:
		return "<="
	}
	return ""
}

var opposite = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// choice reads CASE WHEN a THEN b ELSE c END, and IF(a, b, c).
func choice(e *ast.Expr) (when, then, other *ast.Expr) {
	if c := e.Case; c != nil && c.Operand == nil && len(c.Whens) == 1 && c.Else != nil {
		return ast.Unparen(c.Whens[0].When), c.Whens[0].Then, c.Else
	}
	if e.Kind == ast.Call && e.Op == "if" && len(e.Args) == 3 {
		return ast.Unparen(e.Args[0]), e.Args[1], e.Args[2]
	}
	return nil, nil, nil
}

// conditions is WHERE, and what SET implies, with edits.
func (g *grouper) conditions(edits []edit) fragment {
	where := g.m.st.Where.Span
	if len(g.implied) == 0 {
		return g.p.src.cutEdited(where, edits)
	}
	all := []fragment{g.p.src.cutEdited(where, edits)}
	for _, e := range g.implied {
		l, r := e.Args[0].Span, e.Args[1].Span
		both := join([]fragment{g.p.src.cutEdited(l, edits), g.p.src.cutEdited(r, edits)}, " "+e.Op+" ")
		all = append(all, both)
	}
	return join(all, " AND ")
}

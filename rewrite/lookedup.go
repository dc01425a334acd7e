package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file is about values that are looked up in a query whose source is a query of totals, v IN (SELECT d.id FROM (SELECT
// id, views FROM posts) d WHERE d.views > 5). As a value, negated or under OR, MySQL runs it for each v, finds the rows of d
// by what is compared, and loses the other conditions: NOT IN of it has no rows. As a condition of its own, IN of one value is mostly
// a semijoin, which is right; but not with STRAIGHT_JOIN, a hint NO_SEMIJOIN or optimizer_switch='semijoin=off'. So such a query must not
// have conditions of its own. IN over a table is right, whose totals stand in the conditions.

// lookedUp returns an error for an expression whose second argument is such a subquery; edited reports whether
// a total has been written into it.
func (b *blockReader) lookedUp(e *ast.Expr, in clause, edited bool) error {
	row, sub := isRow(e.Args[0]), e.Args[1]
	switch {
	case sub == nil || sub.Kind != ast.Subquery || sub.Query == nil:
		return nil
	case row && edited && b.repeats(sub):
		return names.Opaque("a row is compared with a column that a query selects twice: MySQL may compare one of the two only")
	case e.Kind != ast.In && !(e.Kind == ast.Opaque && len(e.Args) == 2):
		return nil
	case e.Kind == ast.In && !e.Negated && !row && in == inPredicate && b.q != nil && conjunct(b.q.Where, e) && unconditional(sub.Query):
		return nil
	case b.overTotals(sub.Query, edited):
		return names.Opaque("a value is looked up in a query over a query of totals: MySQL may lose the conditions of the first")
	}
	return nil
}

// conjunct reports whether e is a condition of its own in cond, beside others that must hold as well.
func conjunct(cond, e *ast.Expr) bool {
	if cond == e {
		return true
	}
	return cond != nil && (cond.Kind == ast.Paren || cond.Kind == ast.Binary && cond.Op == "AND") &&
		slices.ContainsFunc(cond.Args, func(a *ast.Expr) bool { return conjunct(a, e) })
}

// unconditional reports whether a query has no conditions: it is a block of one source without WHERE and HAVING.
func unconditional(q *ast.Select) bool {
	return len(q.Operands) == 0 && len(q.From) == 1 && q.From[0].Left == nil && q.Where == nil && q.Having == nil
}

// overTotals reports whether a query may have a source that is a query of totals: one written in its FROM, if
// a total has been written into it, a derived form, or a WITH query.
func (b *blockReader) overTotals(q *ast.Select, edited bool) bool {
	if slices.ContainsFunc(q.Operands, func(o *ast.Select) bool { return b.overTotals(o, edited) }) {
		return true
	}
	var source func(s *ast.Source) bool
	source = func(s *ast.Source) bool {
		if s == nil {
			return false
		}
		if _, ok := b.p.names.Derived[s]; ok {
			return true
		}
		if len(s.Name) == 1 && len(b.r.edits) > 0 && (b.p.names.CTE(b.sc, s.Name) != nil || b.declares(q, s.Name[0])) {
			return true
		}
		return edited && s.Select != nil || source(s.Left) || source(s.Right)
	}
	return slices.ContainsFunc(q.From, source)
}

// declares reports whether a query's own WITH clause has a query of that name.
func (b *blockReader) declares(q *ast.Select, name ast.Ident) bool {
	return slices.ContainsFunc(q.With, func(c *ast.CTE) bool { return b.p.names.SameLabel(name, c.Name) })
}

// repeats reports whether a subquery selects two columns of one name.
func (b *blockReader) repeats(e *ast.Expr) bool {
	if e == nil || e.Query == nil {
		return false
	}
	var list []ast.Ident
	for _, it := range e.Query.Items {
		if it.Expr == nil || it.Expr.Kind != ast.ColumnRef {
			continue
		}
		name := it.Expr.Name[len(it.Expr.Name)-1]
		for _, n := range list {
			if b.p.names.SameLabel(n, name) {
				return true
			}
		}
		list = append(list, name)
	}
	return false
}

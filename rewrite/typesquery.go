package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// typesQuery writes the original query with LIMIT 0, which an engine answers from the types of its
// expressions without reading a row; nil if it is not certain where its LIMIT has to be.
func (p *planning) typesQuery(q *ast.Select) *Bound {
	src := p.src
	// A LIMIT in parentheses at the end is part of what another one limits.
	inside := src.is(len(src.tokens)-1, ")")
	end := 0 // of the last operand's own LIMIT
	if n := len(q.Operands); n > 0 {
		for _, e := range q.Operands[n-1].Limit {
			end = max(end, e.End)
		}
	}
	if src.hasWord("FETCH") || end > 0 && !src.is(src.tokenAt(end), ")") {
		return nil
	}
	var tp template
	limited := func(end int, limit string) *Bound {
		return tp.bound(p.d, tp.mark(src.cut(ast.Span{Start: 0, End: end}))+limit)
	}
	if len(q.Limit) == 0 || inside {
		return limited(src.lockClause(len(src.sql)), "\nLIMIT 0")
	}
	first := q.Limit[0].Start
	for _, e := range q.Limit {
		first = min(first, e.Start)
	}
	if i := src.tokenAt(first); src.is(i-1, "LIMIT") {
		return limited(src.tokens[i-1].Start, "LIMIT 0")
	}
	return nil
}

// namedByArgument reports whether an item without a name has an argument in it.
func namedByArgument(src *source, st *ast.Statement) bool {
	found := false
	v := ast.Visitor{Query: func(q *ast.Select) {
		for _, it := range q.Items {
			if it.Alias != nil || it.Expr == nil || found {
				continue
			}
			found = slices.ContainsFunc(src.params, func(t param) bool { return t.Start >= it.Expr.Start && t.End <= it.Expr.End })
		}
	}}
	if len(src.params) > 0 {
		v.Walk(st)
	}
	return found
}

// lockClause returns where FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE begins
// that ends the statement, or end. A LIMIT cannot follow it; and a query that
// reads no row has none to lock. In parentheses it belongs to another query.
func (s *source) lockClause(end int) int {
	depth := 0
	for i := range s.tokens {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			depth--
		case depth > 0:
		case s.is(i, "FOR") && (s.is(i+1, "UPDATE") || s.is(i+1, "SHARE")), s.is(i, "LOCK") && s.is(i+1, "IN") && s.is(i+2, "SHARE"):
			return s.tokens[i].Start
		}
	}
	return end
}

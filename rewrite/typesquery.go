package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// typesQuery writes the original query with LIMIT 0, which an engine answers from the types of its
// expressions without reading a row; nil if it is not certain where its LIMIT has to be.
func (p *planning) typesQuery(q *ast.Select) *Bound {
	src := p.src
	end := len(src.sql)
	// A LIMIT in parentheses at the end is part of what another one limits.
	inside := src.is(len(src.tokens)-1, ")")
	if n := len(q.Operands); n > 0 && len(q.Operands[n-1].Limit) > 0 && !inside && src.depthAt(q.Operands[n-1].Limit[0].Start) == 0 {
		return nil
	}
	var tp template
	if at := src.fetchClause(); at > 0 && !inside {
		b := tp.expand(p.d, tp.mark(src.cut(ast.Span{Start: 0, End: at}))+"LIMIT 0")
		return &b
	}
	if len(q.Limit) == 0 || inside {
		b := tp.expand(p.d, tp.mark(src.cut(ast.Span{Start: 0, End: src.lockClause(end)}))+"\nLIMIT 0")
		return &b
	}
	first := q.Limit[0].Start
	for _, e := range q.Limit {
		first = min(first, e.Start)
	}
	for i, t := range src.tokens {
		if t.Start != first {
			continue
		}
		if !src.is(i-1, "LIMIT") {
			return nil
		}
		b := tp.expand(p.d, tp.mark(src.cut(ast.Span{Start: 0, End: src.tokens[i-1].Start}))+"LIMIT 0")
		return &b
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

// depthAt returns how many parentheses are open at a place of the statement.
func (s *source) depthAt(at int) int {
	depth := 0
	for i := range s.tokens {
		switch {
		case s.tokens[i].Start >= at:
			return depth
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			depth--
		}
	}
	return depth
}

// fetchClause returns where FETCH FIRST begins, outside of parentheses, or 0.
func (s *source) fetchClause() int {
	depth := 0
	for i := range s.tokens {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			depth--
		case depth == 0 && i > 0 && s.is(i, "FETCH") && (s.is(i+1, "FIRST") || s.is(i+1, "NEXT")) && !s.is(i-1, "."):
			return s.tokens[i].Start
		}
	}
	return 0
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

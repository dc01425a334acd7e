package rewrite

import (
	"sort"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file finds blocks that want the first rows by a counter.

// firstRows finds ORDER BY with a counter and LIMIT n.
func (c *candidates) firstRows() {
	q := c.q
	if q.Distinct || len(q.GroupBy) > 0 || q.Having != nil || c.p.windowed() || !c.judged() || !c.stableItems() {
		return
	}
	var ok bool
	if c.tail, ok = c.behindFrom(); !ok {
		return
	}
	if !c.aggregated() {
		c.ordered()
	}
}

// judged reports whether WHERE may be written again, by base values.
func (c *candidates) judged() bool {
	if c.q.Where == nil {
		return true
	}
	for _, e := range ast.Conjuncts(c.q.Where, nil) {
		if !c.repeatable(e) {
			return false
		}
	}
	return true
}

// stableItems reports whether each row of the source is one of the result: what a
// function returns may be no row, or several.
func (c *candidates) stableItems() bool {
	for _, it := range c.q.Items {
		switch e := it.Expr; {
		case e == nil || e.Kind == ast.Star:
		case c.p.volatility.reason(c.sc, e) != "":
			return false
		}
	}
	return true
}

func (c *candidates) aggregated() bool {
	found := false
	look := func(x *ast.Expr) bool {
		found = found || x.Aggregate
		return !found
	}
	for _, it := range c.q.Items {
		it.Expr.Walk(look)
	}
	for _, e := range c.q.OrderBy {
		e.Walk(look)
	}
	return found
}

// ordered finds ORDER BY of columns, a counter among them, with LIMIT.
func (c *candidates) ordered() {
	q := c.q
	if len(q.OrderBy) == 0 || len(q.Limit) == 0 || c.p.src.hasWord("SQL_CALC_FOUND_ROWS") {
		return
	}
	var order []string
	counts := false
	for _, e := range q.OrderBy {
		x := c.meaning(q, e)
		tail, ok := c.direction(e)
		if x == nil || !ok || !c.ownColumn(x.Name) {
			return
		}
		sql := c.asWritten(x.Span)
		if t, err := c.p.names.Resolve(c.sc, x.Name); err == nil && names.IsCounterTarget(t) {
			sql, counts = c.base(t.Column), true
		}
		if tail != "" {
			tail = " " + tail
		}
		order = append(order, sql+tail)
	}
	if rows, ok := c.limit(q); ok && counts {
		c.first("", strings.Join(order, ", "), c.p.tp.mark(rows))
	}
}

// meaning returns the column that an ORDER BY entry certainly means: itself, or the bare
// column of the select list that its name stands for; nil if that is not certain.
func (c *candidates) meaning(q *ast.Select, e *ast.Expr) *ast.Expr {
	if e.Kind != ast.ColumnRef {
		return nil
	}
	if len(e.Name) > 1 {
		return e
	}
	c.p.names.Work += len(q.Items)
	if c.p.names.Work > names.MaxWork {
		return nil
	}
	var found *ast.Expr
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind == ast.Star {
			continue
		}
		x := ast.Unparen(it.Expr)
		name := it.Alias
		if name == nil && x.Kind == ast.ColumnRef {
			name = &x.Name[len(x.Name)-1]
		}
		if name != nil && c.p.names.SameLabel(e.Name[0], *name) {
			if x.Kind != ast.ColumnRef || found != nil { // which of two the engine takes is not known here
				return nil
			}
			found = x
		}
	}
	if found != nil {
		return found
	}
	return e
}

// direction returns what follows an ORDER BY entry up to the comma or the end of
// the clause.
func (c *candidates) direction(e *ast.Expr) (string, bool) {
	var words []string
	for i := c.p.src.tokenAt(e.End); i < len(c.p.src.tokens); i++ {
		w := strings.ToUpper(c.p.src.sql[c.p.src.tokens[i].Start:c.p.src.tokens[i].End])
		switch w {
		case "ASC", "DESC", "NULLS", "FIRST", "LAST":
			words = append(words, w)
		case ",", "LIMIT", "OFFSET":
			return strings.Join(words, " "), true
		default:
			return "", false
		}
	}
	return "", false
}

// limit reads LIMIT n, LIMIT m, n and LIMIT n OFFSET m, the end of the block: how
// many rows it looks at.
func (c *candidates) limit(q *ast.Select) (fragment, bool) {
	src := c.p.src
	i := src.tokenAt(q.OrderBy[len(q.OrderBy)-1].End)
	for i < len(src.tokens) && !src.is(i, "LIMIT") {
		if src.is(i, ")") || src.is(i, "(") || src.is(i, "OFFSET") {
			return fragment{}, false
		}
		i++
	}
	var numbers []fragment
	for i++; i < len(src.tokens); i += 2 {
		t := src.tokens[i]
		if t.Kind != lex.Number && t.Kind != lex.Param {
			return fragment{}, false
		}
		f := src.cut(ast.Span(t.Span))
		if len(f.args) == 0 && addDecimal(f.parts[0], "0") == "" {
			return fragment{}, false
		}
		numbers = append(numbers, f)
		if i+1 == len(src.tokens) || src.is(i+1, ")") || src.is(i+1, ";") {
			break
		}
		if len(numbers) == 2 || !src.is(i+1, ",") && !src.is(i+1, "OFFSET") {
			return fragment{}, false
		}
	}
	switch len(numbers) {
	case 1:
		return numbers[0], true
	case 2:
		return sum(numbers[0], numbers[1]), true
	}
	return fragment{}, false
}

// behindFrom returns the end of the block's FROM clause, if nothing but the table's
// name is there.
func (c *candidates) behindFrom() (int, bool) {
	src, i := c.p.src, c.p.src.tokenAt(c.q.Items[len(c.q.Items)-1].End)
	if !src.is(i, "FROM") {
		return 0, false
	}
	start := i + 1
	for i = start; i < len(src.tokens); i++ {
		t := src.tokens[i]
		if src.is(i, ")") || src.is(i, ";") || t.Kind == lex.Word && behindFroms[strings.ToUpper(src.sql[t.Start:t.End])] {
			break
		}
		if t.Kind == lex.Operator && !src.is(i, ".") || t.Kind == lex.Word && !c.isName(t) {
			return 0, false // an index hint, TABLESAMPLE, ...
		}
	}
	if i == start {
		return 0, false
	}
	return src.tokens[i-1].End, true
}

// behindFroms are the words that may follow a FROM clause.
var behindFroms = Names("WHERE GROUP ORDER LIMIT UNION INTERSECT EXCEPT")

// isName reports whether a word is part of the source's own name: schema, table,
// AS, alias.
func (c *candidates) isName(t lex.Token) bool {
	w := c.p.src.sql[t.Start:t.End]
	if strings.EqualFold(w, "AS") {
		return true
	}
	for _, n := range c.b.Source.Name {
		if strings.EqualFold(w, n.Name) {
			return true
		}
	}
	return c.b.Source.Alias != nil && strings.EqualFold(w, c.b.Source.Alias.Name)
}

// tokenAt returns the first token that starts at or behind a place.
func (s *source) tokenAt(at int) int {
	return sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].Start >= at })
}

// bareCall reports whether a call is its name and one argument, without DISTINCT,
// FILTER or OVER.
func (s *source) bareCall(e *ast.Expr) bool {
	a := e.Args[0]
	i, j := s.tokenAt(e.Start), s.tokenAt(a.Start)
	return j == i+2 && s.is(j-1, "(") && s.is(s.tokenAt(a.End), ")") && s.tokens[s.tokenAt(a.End)].End == e.End
}

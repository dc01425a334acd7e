package rewrite

import "strings"

// ROW_NUMBER, RANK and DENSE_RANK count the rows that come before theirs. Where their
// window is ordered as the block is, or by the first columns of its order, these rows are
// all among the first ones of the block, in each partition, so a block that keeps its
// candidates alone gives its first rows the same numbers. (Of rows that are equal in that
// order any may be counted first.)

// rankings are the window functions that look at no row behind theirs, peers included.
var rankings = Names("row_number rank dense_rank")

// ranked reports whether the block's window functions are of that kind.
func (c *candidates) ranked() bool {
	for _, it := range c.q.Items {
		if it.Expr != nil && c.over(it.Span) && !c.ranking(it.Expr) {
			return false
		}
	}
	return true
}

// over reports whether there is a window function in a span.
func (c *candidates) over(sp Span) bool {
	for i := c.src.tokenAt(sp.Start); i < len(c.src.tokens) && c.src.tokens[i].Start < sp.End; i++ {
		c.work++
		if c.src.is(i, "OVER") {
			return true
		}
	}
	return false
}

// ranking reports whether an expression is such a function over a window that is ordered as
// the block is: RANK() OVER (PARTITION BY author ORDER BY views DESC).
func (c *candidates) ranking(e *Expr) bool {
	src := c.src
	i := src.tokenAt(e.Start)
	if e.Kind != Call || !rankings[e.Op] || !src.is(i, e.Op) ||
		!src.is(i+1, "(") || !src.is(i+2, ")") || !src.is(i+3, "OVER") || !src.is(i+4, "(") {
		return false
	}
	depth := 0
	for i += 5; !src.is(i, "ORDER") || depth > 0; i++ {
		switch {
		case i >= len(src.tokens) || src.tokens[i].Start >= e.End:
			return false
		case src.is(i, "("):
			depth++
		case src.is(i, ")"):
			depth--
		}
	}
	i += 2
	for n := 0; n < len(c.q.OrderBy); n++ {
		want := c.meaning(c.q, c.q.OrderBy[n])
		tail, ok := c.direction(c.q.OrderBy[n])
		x := columnAt(e, src.tokens[min(i, len(src.tokens)-1)].Start)
		if want == nil || !ok || x == nil || !c.sameColumn(x, want) {
			return false
		}
		i = src.tokenAt(x.End)
		has := "ASC"
		if src.is(i, "ASC") || src.is(i, "DESC") {
			has = strings.ToUpper(src.sql[src.tokens[i].Start:src.tokens[i].End])
			i++
		}
		switch {
		case has != tail && (tail != "" || has != "ASC"):
			return false
		case src.is(i, ")"):
			return src.tokens[i].End == e.End
		case !src.is(i, ","):
			return false
		}
		i++
	}
	return false
}

// columnAt returns the column that an expression names at a place.
func columnAt(e *Expr, at int) *Expr {
	var found *Expr
	e.Walk(func(x *Expr) bool {
		if x.Kind == ColumnRef && x.Start == at {
			found = x
		}
		return found == nil
	})
	return found
}

// sameColumn reports whether two references certainly name one column of the block.
func (c *candidates) sameColumn(x, y *Expr) bool {
	if col := c.counter(x); col != nil {
		return col == c.counter(y)
	}
	return c.counter(y) == nil && c.inBlock(x.Name) && c.src.sql[x.Start:x.End] == c.src.sql[y.Start:y.End]
}

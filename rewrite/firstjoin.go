package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file finds the first rows by a counter of a block that joins its table to others.
//
// The first rows are then rows of the join, and everything that is said of them in
// candidates.go holds if the queries that look for them are queries of the same join:
// l is the least total of any n of its rows, and the first n rows without slots are n
// of its rows. W has rows of the counter's table, of which few may have a partner in the join, and rows of the
// join, each of which may stand for many of the table. A row of the join that is in neither part has a base value of
// at most the least of both. (Where the engine may sort the join for it, W is of the table alone.)

// Another source may have counters, too, as the author of a post does. The queries then read its base rows, which are
// as many, with the same ordinary columns. Where WHERE or ORDER BY reads its totals, the queries do, too: what is said of base
// values and slots is said of the counter's table alone, and to that a total of another row is a value like any other.

// joined reports whether the block's FROM clause may be written again in queries of its own:
// tables whose rows nothing but the clause itself decides (and MySQL opens no temporary table twice). It notes the clause.
func (c *candidates) joined() bool {
	if c.b.optional || c.sc.natural || len(c.sc.using) > 0 || !c.sc.outermost() {
		return false
	}
	for _, b := range c.sc.bindings {
		c.work++
		if b == c.b {
			continue
		}
		if b.derived || b.query != nil || b.opaque || len(b.source.Name) == 0 {
			return false
		}
		if t, _ := c.lookup(b.source.Name); t == nil || t.IsView || t.Temporary {
			return false
		}
	}
	for _, s := range c.q.From {
		if (volatility{planning: c.planning}).source(c.sc, s) != "" {
			return false
		}
	}
	clause, ok := c.fromClause()
	if !ok || c.edited(clause) {
		return false
	}
	c.tail, c.join.clause = clause.End, c.tp.mark(c.src.cut(clause))
	if c.q.Where != nil {
		if !c.keepOthers(c.q.Where) {
			return false
		}
		for _, e := range conjuncts(c.q.Where, nil) {
			if !c.edited(e.Span) && !c.own(e) {
				c.join.conds = append(c.join.conds, "("+c.tp.mark(c.src.cut(e.Span))+")")
				c.constants = c.constants || comparesConstant(e)
			}
		}
	}
	return true
}

// keepOthers notes the counters of other sources that an expression reads, which are totals wherever it is
// repeated. It reports false where these are not certain.
func (c *candidates) keepOthers(e *Expr) bool {
	ok := true
	e.Walk(func(x *Expr) bool {
		if x.Kind == ColumnRef && ok {
			t, err := c.resolve(c.sc, x.Name)
			if ok = err == nil; ok && isCounterTarget(t) && t.binding != c.b {
				c.queries = append(c.queries, x.Span)
			}
		}
		return ok
	})
	return ok
}

// sorted reports whether the engine may begin the join with another table than the counter's, and sort all of
// it: so does SQLite, and MariaDB chooses the order of a join before it thinks of ORDER BY and LIMIT. Then no query but one
// looks at the whole join, and that computes no totals:
//
//   - l is told by the rows of the join that are rows of W.
//   - If these are fewer than n, l is not known. All rows with slots are candidates then, and so
//     are the first n rows of the join without.
func (c *candidates) sorted() bool { return c.join.clause != "" && c.d.Traits().SortsJoins }

// reaches writes a comparison with the bound of the first rows, which is met as well where that is not known although W,
// whose last value is given, is full.
func (c *candidates) reaches(w *window, left, op, right, last string) string {
	if w.first == nil || !w.first.values && !c.sorted() {
		return left + " " + op + " " + right
	}
	return "COALESCE(" + left + " " + op + " " + right + ", " + last + " IS NOT NULL)"
}

// among writes that the source's row is, or is not, among those of a query of keys.
func (c *candidates) among(in, keys, from string) string {
	return Tuple(c.keys) + in + "(SELECT " + keys + " FROM " + from + ")"
}

// fromClause returns what stands behind FROM.
func (c *candidates) fromClause() (Span, bool) {
	src := c.src
	i := src.tokenAt(c.q.Items[len(c.q.Items)-1].End)
	if !src.is(i, "FROM") || i+1 >= len(src.tokens) {
		return Span{}, false
	}
	out := Span{Start: src.tokens[i+1].Start}
	depth := 0
	for i++; i < len(src.tokens); i++ {
		t := src.tokens[i]
		word := strings.ToUpper(src.sql[t.Start:t.End])
		switch {
		case src.is(i, "("):
			depth++
		case src.is(i, ")") && depth > 0:
			depth--
		case depth == 0 && (src.is(i, ")") || src.is(i, ";") || t.Kind == lex.Word && behindFroms[word]):
			return out, out.End > 0
		case t.Kind == lex.Word && notRepeated[word]:
			return Span{}, false
		}
		out.End = t.End
	}
	return out, out.End > 0
}

// notRepeated are words of a FROM clause that is not written twice: index hints, samples,
// old versions of rows.
var notRepeated = Names("USE FORCE IGNORE INDEXED TABLESAMPLE LATERAL FOR PARTITION ONLY STRAIGHT_JOIN")

// inside reports whether all that an expression names are columns of the block's sources.
func (c *candidates) inside(e *Expr) bool { return namesOnly(e, c.inBlock, c.isBound) }

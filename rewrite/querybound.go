package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// A bound may be a query:
//
//	SELECT id FROM posts WHERE views > (SELECT threshold FROM settings WHERE name = 'hot')
//	SELECT id FROM posts WHERE views = (SELECT MAX(views) FROM posts)
//
// All that is said of windows holds for a bound that is the same wherever the statement has it, whatever it is
// (NULL, of which no comparison is true, included). So windows are made of a query that
//
//   - names nothing but columns of its own table, and has no query inside: it has the same value for each row, and
//     means the same in a query of slotsql's;
//   - is stable, of numbers whose sums do not depend on the order of rows, and has its first row by the value itself if it
//     has several: it has the same value each time, for one statement reads one state of the tables;
//   - gives one row at most, and cannot fail otherwise: windows evaluate it even where the plain query
//     has no row to compare with it.
//
// It is written again as it is read, with totals for the counters that it names. So are the conditions that hold it, which
// are repeated with base values in all other places.

// queryBounds are such queries in a block's WHERE.
type queryBounds struct {
	queries  []Span // and the counters of other sources: what has totals where the rest has base values
	byTotals bool   // there are none: WHERE is that of a statement that changes rows
}

// oneValue reports whether an expression is such a query.
func (c *candidates) oneValue(e *Expr) bool {
	q := e.Query
	if e.Kind != Subquery || e.Op != "" || c.byTotals || q == nil || len(q.From) != 1 || c.volatileQuery(c.sc, q) != "" {
		return false
	}
	return c.oneValued(c.newScope(c.sc, nil, q.From), q) && (c.evaluatedOnce() || c.readsFew(q))
}

// evaluatedOnce reports whether a query of the block may be one of the statement's WITH clause, which the engine runs once.
func (c *candidates) evaluatedOnce() bool {
	_, ok := c.mainAt()
	return ok && c.q == c.main && c.d.Traits().SharedWith && !c.src.is(0, "DECLARE")
}

// readsFew reports whether a query of one value may be asked more than once: it reads few rows however many its table has.
// Without a WITH query that is asked once, each of its windows is.
func (c *candidates) readsFew(q *Select) bool {
	e := unparen(q.Items[0].Expr)
	return e.Op == "min" || e.Op == "max" || e.Kind == ColumnRef && (len(q.OrderBy) == 0 || c.d.Traits().SharedWith)
}

// oneValued reports whether a stable query gives one value, whatever is around it.
func (p *planning) oneValued(sc *scope, q *Select) bool {
	if len(sc.bindings) != 1 || len(q.Items) != 1 || q.Distinct || q.Table || q.Lock || q.Into || q.Having != nil ||
		len(q.With)+len(q.Operands)+len(q.Values)+len(q.DistinctOn)+len(q.GroupBy)+len(q.Windows) > 0 {
		return false
	}
	b := *sc.bindings[0]
	if b.query != nil || b.opaque || len(b.columns) > 0 {
		return false
	}
	t, _ := p.lookup(b.source.Name)
	if t == nil || t.IsView { // what a view computes is not known here
		return false
	}
	b.table = t // in the copy alone: the block may have no counter table
	v := oneValue{p, sc, &b, q}
	return v.itself() && v.conditions() && v.oneRow()
}

// oneValue looks at a query of one table.
type oneValue struct {
	*planning
	sc *scope
	b  *binding
	q  *Select
}

// column returns the table's column that an expression certainly is, or nil.
func (v *oneValue) column(e *Expr) *Column {
	if e = unparen(e); e.Kind != ColumnRef || len(e.Name) > 2 || len(e.Name) == 2 && !v.sameLabel(e.Name[0], v.b.label) {
		return nil
	}
	for i := range v.b.table.Columns {
		if col := &v.b.table.Columns[i]; v.d.SameColumn(e.Name[len(e.Name)-1], col.Name) {
			return col
		}
	}
	return nil
}

// exact is column of one whose numbers are exact.
func (v *oneValue) exact(e *Expr) *Column {
	if col := v.column(e); col != nil && (col.Numeric == Integer || col.Numeric == Decimal) {
		return col
	}
	return nil
}

// itself reports whether the value is a number that the same rows always give.
func (v *oneValue) itself() bool {
	e := v.q.Items[0].Expr
	return e != nil && (v.exact(e) != nil || v.aggregate(unparen(e)))
}

// aggregate reports whether an expression is an aggregate, or one that is computed with a literal and stays in the range of its type.
func (v *oneValue) aggregate(e *Expr) bool {
	switch {
	case e.Kind == Call && e.Op == "coalesce" && len(e.Args) == 2:
		return v.aggregate(unparen(e.Args[0])) && unparen(e.Args[1]).Kind == Number
	case e.Kind == Call && len(e.Args) == 1 && v.src.bareCall(e):
		return e.Op == "count" && (e.Args[0].Kind == Star || v.column(e.Args[0]) != nil) || aggregated[e.Op] && v.exact(e.Args[0]) != nil
	case e.Kind == Binary && len(e.Args) == 2 && (e.Op == "+" || e.Op == "-" || e.Op == "*" || e.Op == "/"):
		x, n := unparen(e.Args[0]), unparen(e.Args[1])
		if e.Op != "/" && x.Kind == Number {
			x, n = n, x
		}
		return n.Kind == Number && few(v.noted(n.Text)) && x.Kind == Call && wide[x.Op] && v.aggregate(x)
	}
	return false
}

// few reports whether a literal is a number of few digits other than 0: with more of them a count may leave its range.
func few(number string) bool {
	return len(number) <= 6 && strings.Trim(number, "0123456789.") == "" && strings.ContainsAny(number, "123456789")
}

// aggregated are the aggregates of a number; wide are those whose type has room to compute with.
var (
	aggregated = Names("min max avg sum")
	wide       = Names("avg sum count")
)

// conditions reports whether WHERE names nothing but the table's columns, and cannot fail.
func (v *oneValue) conditions() bool {
	own := func(name []Ident) bool { return v.column(&Expr{Kind: ColumnRef, Name: name}) != nil }
	return v.q.Where == nil || namesOnly(v.q.Where, own, nil) && cannotFail(v.q.Where)
}

// oneRow reports whether there is one row at most: of an aggregate, of a key, or the first by the value itself.
func (v *oneValue) oneRow() bool {
	q := v.q
	switch {
	case v.exact(q.Items[0].Expr) == nil:
		return len(q.OrderBy)+len(q.Limit) == 0
	case len(q.OrderBy) == 0:
		rows := v.fixedRows(v.sc, v.b, q.Where)
		return len(q.Limit) == 0 && rows != nil && rows.single
	case len(q.OrderBy) > 1 || len(q.Limit) == 0 || q.Items[0].Alias != nil || v.column(q.OrderBy[0]) != v.exact(q.Items[0].Expr):
		return false
	}
	i := v.src.tokenAt(q.OrderBy[0].End)
	for !v.src.is(i, "LIMIT") {
		if i++; i >= len(v.src.tokens) || v.src.tokens[i].Start >= q.End {
			return false
		}
	}
	if v.src.number(i+1) != "" && v.noted(v.src.number(i+1)) == "1" {
		return v.src.is(i+2, ")") || v.src.is(i+2, "OFFSET") && v.src.number(i+3) != "" && v.src.is(i+4, ")")
	}
	return false
}

// number returns the literal that a token is; "" for another one.
func (s *source) number(i int) string {
	if i >= len(s.tokens) || s.tokens[i].Kind != lex.Number {
		return ""
	}
	return s.sql[s.tokens[i].Start:s.tokens[i].End]
}

// queryBound writes the value of a query for windows. Where the engine can be asked once for all, the block's own
// condition is given that value as well.
func (c *candidates) queryBound(e *Expr) string {
	if !c.d.Traits().SharedWith {
		c.joinRow(e.Query)
		return c.byBase(e.Span)
	}
	sql := c.byBase(e.Span)
	if !c.evaluatedOnce() {
		return c.value("slotsql_b"+formatUint(uint64(len(c.with))), "SELECT "+sql+" AS slotsql_v")
	}
	inside := func(x edit) bool { return x.within(e.Span) }
	if i := slices.IndexFunc(c.edits, func(x edit) bool { return x.Span == e.Span }); i >= 0 {
		return c.edits[i].sql // it bounds two counters
	}
	name := "slotsql_b" + formatUint(uint64(c.narrowing.bounds))
	c.narrowing.bounds++
	value := "(SELECT slotsql_v FROM " + name + ")"
	c.edits = append(slices.DeleteFunc(c.edits, inside), edit{e.Span, value})
	c.mainWith(name + " AS MATERIALIZED (SELECT " + sql + " AS slotsql_v)")
	return value
}

// byBase writes a piece of the block's conditions as its base values meet it. What queries of one value
// read in it are totals, as are counters of other sources.
func (c *candidates) byBase(sp Span) string { return c.withEdits(sp, c.bases()) }

// bases are the edits inside of queries: those that leave the block's own counters as they stand.
func (c *candidates) bases() []edit {
	return slices.DeleteFunc(slices.Clone(c.edits), func(e edit) bool {
		c.work++
		return !slices.ContainsFunc(c.queries, e.within)
	})
}

// byTotal writes a piece of the block's conditions as its totals meet it.
func (c *candidates) byTotal(sp Span) string { return c.withEdits(sp, c.edits) }

// withEdits writes a piece of the statement with edits, which may hold markers.
func (c *candidates) withEdits(sp Span, edits []edit) string {
	return c.tp.mark(c.tp.pieces(c.tp.expandSQL(c.tp.mark(c.src.cutEdited(sp, edits)))))
}

// findQueries notes the queries of one value in the block's WHERE.
func (c *candidates) findQueries() {
	c.q.Where.Walk(func(x *Expr) bool {
		if x.Kind == Subquery && c.oneValue(x) {
			c.queries = append(c.queries, x.Span)
		}
		return true
	})
}

// isBound reports whether an expression is a query of one value.
func (c *candidates) isBound(e *Expr) bool {
	return e.Kind == Subquery && slices.Contains(c.queries, e.Span)
}

// queriesIn reports whether an expression has a query that may give several values.
func (c *candidates) queriesIn(e *Expr) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Kind == Subquery && !c.isBound(x)
		return !found
	})
	return found
}

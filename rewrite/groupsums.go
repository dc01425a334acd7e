package rewrite

import (
	"strconv"
	"strings"
)

// Sums by group.
//
// `SELECT author, SUM(views) FROM posts GROUP BY author` needs no row's total: what a group's slots
// hold is added to the sum of its base values. The statement becomes one of two queries of groups,
//
//	SELECT slotsql_b.slotsql_k0 AS author, slotsql_b.slotsql_a0 + COALESCE(slotsql_h.slotsql_a0, 0) AS "SUM(views)"
//	FROM (SELECT author AS slotsql_k0, SUM(views) AS slotsql_a0 FROM posts GROUP BY author) AS slotsql_b
//	LEFT JOIN (SELECT author AS slotsql_k0, SUM(<views of the slot>) AS slotsql_a0
//	           FROM <slots> JOIN posts ON <same key> GROUP BY author) AS slotsql_h
//	ON slotsql_h.slotsql_k0 = slotsql_b.slotsql_k0
//
// The first is the application's own: groups, their order, and all aggregates but the sums of counters are
// what they are without slots. Each slot belongs to one base row, so the groups of the second are
// groups of the first. HAVING becomes WHERE; ORDER BY and LIMIT stay.
//
// A query that may stop at the first groups is read by substitution: here all groups are made.

// groupSums writes it; false where the query has another form.
func (r *reader) groupSums(q *Select) ([]edit, bool) {
	if r.found.wholeRow || r.found.locks || len(r.derived) > 0 || r.mistyped(nil) != "" || strings.Contains(r.src.sql, markerByte) ||
		len(r.src.tokens) > maxSumTokens || !ofOneTable(q) || len(q.GroupBy) == 0 || r.windowed() || r.groupingSets() {
		return nil, false
	}
	g := groupSummer{summer: summer{candidates: candidates{reader: r, q: q, sc: r.newScope(nil, nil, q.From), lone: true}}}
	g.b = g.sc.bindings[0]
	t := g.b.table
	if !g.b.counts || len(g.b.columns) > 0 || g.b.source.Ref.End == 0 || t.Temporary || len(t.Counter.Key) == 0 || !g.cascadesDelete(t) ||
		g.limitedByQuery() {
		return nil, false
	}
	if q.Where != nil && (g.volatile(g.sc, q.Where) != "" || !g.counterFree(g.sc, q.Where)) {
		return nil, false
	}
	if !g.groups() || !g.clauses() {
		return nil, false
	}
	for _, it := range q.Items {
		if !g.item(it) {
			return nil, false
		}
	}
	if q.Having != nil && !g.outside(q.Having, true) {
		return nil, false
	}
	for _, e := range q.OrderBy {
		if _, n := g.result(e); n > 1 || n == 0 && !g.outside(e, false) {
			return nil, false
		}
	}
	if len(g.sums) == 0 || len(q.Limit) > 0 && (len(q.OrderBy) == 0 || !g.byAggregate(q.OrderBy[0])) {
		return nil, false
	}
	return append(g.out, edit{Span{q.From[0].Ref.Start, g.end}, g.source()}), true
}

// maxSumTokens bounds a statement: expressions are compared with each that the block groups by.
const maxSumTokens = 2000

// A groupSummer writes the edits.
type groupSummer struct {
	summer
	out  []edit
	keys []*Expr // what the block groups by
	aggs []string
	sums []*Column      // counters that are summed
	of   map[string]int // places in aggs
	end  int            // of GROUP BY
}

// groups finds what the block groups by: expressions of ordinary columns. Groups by a whole key
// are the rows themselves.
func (g *groupSummer) groups() bool {
	by := map[string]bool{}
	for _, e := range g.q.GroupBy {
		if e.Kind == Number {
			n, err := strconv.Atoi(g.src.sql[e.Start:e.End])
			if err != nil || n < 1 || n > len(g.q.Items) {
				return false
			}
			e = g.q.Items[n-1].Expr
		} else if it := g.alias(e); it != nil {
			e = it
		}
		if e == nil || !g.ordinary(e) {
			return false
		}
		g.keys = append(g.keys, e)
		if x := unparen(e); x.Kind == ColumnRef {
			by[g.targetColumn(g.sc, g.b, x.Name)] = true
		}
	}
	for _, k := range g.b.table.Uniques {
		whole := true
		for _, c := range k.Columns {
			whole = whole && by[c]
		}
		if whole {
			return false
		}
	}
	return true
}

// alias returns the item that a name means which is no column of the table.
func (g *groupSummer) alias(e *Expr) *Expr {
	if e.Kind != ColumnRef || len(e.Name) != 1 || g.targetColumn(g.sc, g.b, e.Name) != "" {
		return nil
	}
	for _, it := range g.q.Items {
		if it.Alias != nil && g.sameLabel(e.Name[0], *it.Alias) {
			return it.Expr
		}
	}
	return nil
}

// ordinary reports whether an expression computes with ordinary columns of the table, and gives
// the same value each time.
func (g *groupSummer) ordinary(e *Expr) bool {
	columns := 0
	ok := g.volatile(g.sc, e) == "" && !g.edited(e.Span) && namesOnly(e, func(name []Ident) bool {
		columns++
		return g.targetColumn(g.sc, g.b, name) != "" && g.ownColumn(name)
	}, nil)
	e.Walk(func(x *Expr) bool {
		ok = ok && !x.Aggregate && x.Kind != Param
		return ok
	})
	return ok && columns > 0
}

// clauses reports whether FROM, WHERE, GROUP BY and HAVING stand as they are expected to, and notes
// where they end.
func (g *groupSummer) clauses() bool {
	src, q := g.src, g.q
	i := src.tokenAt(q.From[0].Ref.End)
	if q.Where != nil {
		if !src.is(i, "WHERE") || src.tokenAt(q.Where.Start) != i+1 {
			return false
		}
		i = src.tokenAt(q.Where.End)
	}
	if !src.is(i, "GROUP") || src.tokenAt(q.GroupBy[0].Start) != i+2 {
		return false
	}
	g.end = q.GroupBy[len(q.GroupBy)-1].End
	i = src.tokenAt(g.end)
	if q.Having != nil {
		if !src.is(i, "HAVING") || src.tokenAt(q.Having.Start) != i+1 {
			return false
		}
		g.out = append(g.out, edit{Span(src.tokens[i].Span), "WHERE"})
		return true
	}
	return i == len(src.tokens) || src.is(i, ";") || src.is(i, "ORDER") || src.is(i, "LIMIT")
}

// item edits an item of the result, which keeps its name.
func (g *groupSummer) item(it Item) bool {
	if it.Expr == nil || !g.outside(it.Expr, false) {
		return false
	}
	if it.Alias != nil {
		return true
	}
	b := blockReader{g.reader, g.sc, g.q}
	name, ok := b.itemName(it)
	if c := g.targetColumnOf(it.Expr); c != "" && g.d.Traits().StoredNames != NamesAsWritten {
		name = c
	}
	if g.d.Traits().ItemNames == ItemsByRule {
		x := unparen(it.Expr)
		for x.Kind == Opaque && (x.Op == "cast" || x.Op == "collate") && len(x.Args) == 1 {
			x = unparen(x.Args[0])
		}
		switch {
		case x.Kind == ColumnRef:
		case x.Kind == Call && !otherwise[x.Op]:
			name = x.Op
		case x.Kind == Call, x.Kind == Opaque, x != unparen(it.Expr):
			return false
		default:
			name = "?column?"
		}
	}
	if !ok || name == "" {
		return ok
	}
	g.out = append(g.out, edit{Span{it.Expr.End, it.Expr.End}, " AS " + g.d.Quote(name)})
	return true
}

// otherwise are calls that name a result column by another word on some version of PostgreSQL.
var otherwise = Names("extract trim btrim position overlay substring normalize xmlparse xmlserialize")

// result returns the item that a whole ORDER BY entry means, and how many it may mean.
func (g *groupSummer) result(e *Expr) (item *Expr, n int) {
	if e.Kind == Number {
		if n, err := strconv.Atoi(g.src.sql[e.Start:e.End]); err == nil && n >= 1 && n <= len(g.q.Items) {
			return g.q.Items[n-1].Expr, 1
		}
	}
	if e.Kind != ColumnRef || len(e.Name) != 1 {
		return nil, 0
	}
	b := blockReader{g.reader, g.sc, g.q}
	for _, it := range g.q.Items {
		if name, _, err := b.itemMeans(it, nil); err == nil && name != nil && g.sameLabel(e.Name[0], *name) {
			item = it.Expr
			n++
		}
	}
	return item, n
}

// byAggregate reports whether the order of groups is one that all their rows decide.
func (g *groupSummer) byAggregate(e *Expr) bool {
	if item, _ := g.result(e); item != nil {
		e = item
	}
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Aggregate
		return !found
	})
	return found
}

// scalar are functions that compute with what aggregates return.
var scalar = Names("coalesce nullif ifnull round abs floor ceil ceiling greatest least")

// outside edits an expression that is made of aggregates, of what the block groups by, and of
// constants. In a condition the name of an item becomes that item.
func (g *groupSummer) outside(e *Expr, condition bool) bool {
	if i := g.key(e); i >= 0 {
		g.replace(e, "slotsql_b."+keyName(i))
		return true
	}
	switch {
	case e.Kind == Number, e.Kind == String, e.Kind == Null, e.Kind == Param:
		return true
	case e.Kind == ColumnRef:
		it := g.alias(e)
		if it == nil || !g.d.Traits().AliasInExpr {
			return false
		}
		if condition {
			f := g.src.cutEdited(it.Span, g.out)
			g.replace(e, "("+f.parts[0]+")")
			return len(f.args) == 0
		}
		return true
	case e.Kind == Call && e.Aggregate:
		return g.aggregate(e)
	case e.Kind == Call && !scalar[e.Op], e.Kind == Opaque && !computes[strings.ToLower(e.Op)],
		e.Kind == Star, e.Kind == Subquery, e.Kind == Excluded:
		return false
	}
	for _, a := range e.Args {
		if !g.outside(a, condition) {
			return false
		}
	}
	return true
}

// computes are further forms of expression that compute with their operands alone.
var computes = map[string]bool{"cast": true, "case": true, "collate": true}

func (g *groupSummer) replace(e *Expr, sql string) { g.out = append(g.out, edit{e.Span, sql}) }

// key returns which of the block's groups an expression is, or -1.
func (g *groupSummer) key(e *Expr) int {
	if e.Kind == Number || e.Kind == String || e.Kind == Param || e.Kind == Null {
		return -1
	}
	g.work += len(g.keys)
	for i, k := range g.keys {
		k, x := unparen(k), unparen(e)
		if (k.Kind == ColumnRef) != (x.Kind == ColumnRef) {
			continue
		}
		if k.Kind == ColumnRef {
			if c := g.targetColumn(g.sc, g.b, x.Name); c != "" && c == g.targetColumn(g.sc, g.b, k.Name) {
				return i
			}
			continue
		}
		if g.noted(g.src.sql[k.Start:k.End]) == g.noted(g.src.sql[x.Start:x.End]) {
			return i
		}
	}
	return -1
}

// aggregate moves an aggregate into the query of base rows. Of counters it is a sum, to which what
// the slots hold is added, or counts those that are not NULL.
func (g *groupSummer) aggregate(e *Expr) bool {
	if i := g.src.tokenAt(e.End); g.src.is(i, "FILTER") || g.src.is(i, "WITHIN") || g.src.is(i, "(") || hasQuery(e) {
		return false
	}
	var c *Column
	if len(e.Args) == 1 && g.src.bareCall(e) {
		c = g.counter(e.Args[0])
	}
	if c == nil && !g.edited(e.Span) || c != nil && e.Op == "count" {
		g.replace(e, "slotsql_b."+g.moved(e))
		return true
	}
	if c == nil || e.Op != "sum" || c.Numeric != Integer && c.Numeric != Decimal {
		return false
	}
	i := 0
	for i < len(g.sums) && g.sums[i] != c {
		i++
	}
	if i == len(g.sums) {
		g.sums = append(g.sums, c)
	}
	sql := "(slotsql_b." + g.moved(e) + " + COALESCE(slotsql_h." + sumName(i) + ", 0))"
	if as := g.d.Traits().SumOfInt; as != "" && c.Numeric == Integer && c.Bits <= 32 {
		sql = "CAST(" + sql + " AS " + as + ")"
	}
	g.replace(e, sql)
	return true
}

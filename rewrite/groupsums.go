package rewrite

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
func (r *reader) groupSums(w *walkedBlock) ([]edit, bool) {
	q := w.q
	if r.found.locks || len(r.src.tokens) > maxSumTokens || !r.addable(q) || len(q.GroupBy) == 0 || r.windowed() || r.groupingSets() {
		return nil, false
	}
	c := candidates{reader: r, q: q, sc: w.sc, lone: true}
	g := groupSummer{regrouped: regrouped{summer: summer{candidates: c}}}
	g.b, g.aggregated = g.sc.bindings[0], g.summed
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
	regrouped
	sums []*Column // counters that are summed
}

// groups finds what the block groups by: expressions of ordinary columns. Groups by a whole key
// are the rows themselves.
func (g *groupSummer) groups() bool {
	by := map[string]bool{}
	for _, e := range g.q.GroupBy {
		if e.Kind == Number {
			e = g.itemAt(g.q, e)
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
	return src.endsBlock(i) || src.is(i, "ORDER") || src.is(i, "LIMIT")
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

// summed moves an aggregate into the query of base rows. Of counters it is a sum, to which what
// the slots hold is added, or counts those that are not NULL.
func (g *groupSummer) summed(e *Expr) bool {
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

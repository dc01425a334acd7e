package rewrite

import "strings"

// sums rewrites a query that only adds counters up over a whole table:
// SUM(views) is the sum of the base values plus the sum of the slots, which is
// exact because addition commutes and each slot row belongs to exactly one
// base row (its foreign key says so, and where it has none the form is not used). It spares the engine a look at the slots
// of every row. False when the query has another form.
func (p *planning) sums(st *Statement, edits []edit) (Bound, bool) {
	q := st.Select
	if !p.d.Traits().Split || p.mistyped(nil) != "" || len(q.Operands) > 0 || len(q.Values) > 0 || len(q.With) > 0 || q.Distinct || len(q.DistinctOn) > 0 ||
		len(q.GroupBy) > 0 || q.Having != nil || len(q.Windows) > 0 || len(q.OrderBy) > 0 ||
		len(q.From) != 1 || len(q.From[0].Name) == 0 ||
		len(q.Items) == 0 {
		return Bound{}, false
	}
	s := splitter{planning: p, q: q, sc: p.newScope(nil, nil, q.From)}
	s.b = s.sc.bindings[0]
	if !s.b.counts || len(s.b.columns) > 0 || !s.repeatable() || s.limitedByQuery() || !s.places() ||
		q.Where != nil && !p.counterFree(s.sc, q.Where) {
		return Bound{}, false
	}
	for _, e := range edits {
		if e.Start == e.End {
			s.edits = append(s.edits, e) // the name of an item without alias
		}
	}
	var tp template
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind == Star || !s.sumItem(it, &tp) {
			return Bound{}, false
		}
	}
	if !s.tied(s.b.table) && len(s.b.table.Counter.Key) > 0 || q.Where != nil && len(s.b.table.Counter.Key) == 0 {
		return Bound{}, false
	}
	text := tp.mark(p.src.cutEdited(Span{0, len(p.src.text)}, s.edits))
	return tp.expand(p.d, tp.expandText(text)), true
}

// sumItem replaces each SUM(counter) of an item; false when a counter stands
// anywhere else.
func (s *splitter) sumItem(it Item, tp *template) bool {
	ok := true
	it.Expr.Walk(func(e *Expr) bool {
		switch {
		case !ok || e.Kind == Subquery:
			ok = false
			return false
		case s.isCounter(e):
			ok = false
			return false
		case e.Kind == Call && e.Op == "sum" && len(e.Args) == 1 && s.isCounter(e.Args[0]):
			if !s.bareCall(e) {
				ok = false
				return false
			}
			t, _ := s.resolve(s.sc, e.Args[0].Name)
			if !s.b.table.IsCounter(t.column.Name) {
				ok = false
				return false
			}
			s.edits = append(s.edits, edit{e.Span, s.sumText(e, t.column, tp)})
			if it.Expr == e && it.Alias == nil && s.d.Traits().ItemNames == ItemsByRule {
				s.edits = append(s.edits, edit{Span{e.End, e.End}, " AS " + s.d.Quote("sum")})
			}
			return false
		}
		return true
	})
	return ok
}

// bareCall says that a call is its name and one argument, without DISTINCT,
// FILTER or OVER.
func (s *splitter) bareCall(e *Expr) bool {
	a := e.Args[0]
	i, j := s.tokenAt(e.Start), s.tokenAt(a.Start)
	return j == i+2 && s.src.is(j-1, "(") && s.src.is(s.tokenAt(a.End), ")") && s.src.tokens[s.tokenAt(a.End)].End == e.End
}

func (s *splitter) sumText(e *Expr, c *Column, tp *template) string {
	t := s.b.table
	slots := SlotSource(s.d, t, c.Name)
	sum := "SELECT SUM(slotsql_g." + s.d.Quote(c.Name) + ") FROM " + slots + " AS slotsql_g"
	if s.q.Where != nil {
		var group, groupBy, match []string
		for i, k := range t.Counter.Key {
			n := formatUint(uint64(i))
			group = append(group, "slotsql_g."+s.d.Quote(k)+" AS slotsql_k"+n)
			groupBy = append(groupBy, "slotsql_g."+s.d.Quote(k))
			match = append(match, s.qualifier(s.b)+"."+s.d.Quote(k)+" = slotsql_h.slotsql_k"+n)
		}
		group = append(group, "SUM(slotsql_g."+s.d.Quote(c.Name)+") AS slotsql_c0")
		sum = "SELECT SUM(slotsql_h.slotsql_c0) FROM (SELECT " + strings.Join(group, ", ") + " FROM " + slots +
			" AS slotsql_g GROUP BY " + strings.Join(groupBy, ", ") + ") AS slotsql_h CROSS JOIN " + tp.mark(s.src.cut(s.from)) +
			" WHERE " + strings.Join(match, " AND ") + " AND (" + tp.mark(s.src.cut(s.q.Where.Span)) + ")"
	}
	text := "(" + s.src.text[e.Start:e.End] + " + COALESCE((" + sum + "), 0))"
	if as := s.d.Traits().SumOfInt; as != "" && c.Numeric == Integer && c.Bits <= 32 {
		text = "CAST(" + text + " AS " + as + ")"
	}
	return text
}

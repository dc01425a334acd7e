package rewrite

import (
	"slices"
	"strings"
)

// The hot/cold split.
//
// A query that orders or filters by a counter cannot use the counter's index
// once the counter is an expression: the engine computes the total of every
// row. But few rows have slots (they are hot); for all others (cold) the base
// value is the total, and the base column's index holds. So the split finds
// candidates for the result first:
//
//   - cold: rows without slots, in the query's own order and up to its limit,
//     read from the base column and its index
//   - hot: rows with slots, their sums taken per key
//
// and lets the query, rewritten as usual, run over the candidates alone. It is
// exact: whatever the query would return is among the candidates, because the
// first n of a set are among the first n of each of its parts, and the query
// judges, orders and cuts the candidates itself.

// split rewrites a query over one counter table that orders by a counter with
// a limit, or compares one with a constant; nil when the query has another
// form, for which substitution serves.
func (p *planning) split(st *Statement, edits []edit) (Bound, string, bool) {
	q := st.Select
	if !p.d.Traits().Split || p.src.hasWord("SQL_CALC_FOUND_ROWS") {
		return Bound{}, "", false
	}
	if len(q.Operands) > 0 || len(q.Values) > 0 || len(q.With) > 0 || q.Distinct || len(q.DistinctOn) > 0 ||
		len(q.GroupBy) > 0 || q.Having != nil || len(q.Windows) > 0 || len(q.From) != 1 || len(q.From[0].Name) == 0 || len(q.Items) == 0 {
		return Bound{}, "", false
	}
	s := splitter{planning: p, q: q, edits: edits, sc: p.newScope(nil, nil, q.From)}
	s.b = s.sc.bindings[0]
	if !s.b.counts || len(s.b.columns) > 0 || len(s.b.table.Counter.Key) == 0 || s.hasAggregate() || !s.repeatable() || !s.places() {
		return Bound{}, "", false
	}
	switch {
	case s.ordered():
		return s.build(true), "the first rows by a counter: hot/cold split", true
	case s.filtered():
		return s.build(false), "a range of a counter: hot/cold split", true
	}
	return Bound{}, "", false
}

type splitter struct {
	*planning
	q     *Select
	edits []edit
	sc    *scope
	b     *binding

	from  Span // the FROM clause's table, as written
	where int  // where a WHERE clause stands or would stand
	order []orderEntry
	limit fragment // rows the arms have to give: limit plus offset
}

// build writes the split query.
func (s *splitter) build(ordered bool) Bound {
	var tp template
	c := s.b.table.Counter
	q := s.qualifier(s.b)
	from := tp.mark(s.src.cut(s.from))
	keys := make([]string, len(c.Key))
	group := make([]string, 0, len(c.Key)+len(c.Counters))
	var groupBy, same, match []string
	slots := s.slotRef(s.b.table)
	for i, k := range c.Key {
		n := formatUint(uint64(i))
		keys[i] = q + "." + s.d.Quote(k)
		group = append(group, "slotsql_g."+s.d.Quote(k)+" AS slotsql_k"+n)
		groupBy = append(groupBy, "slotsql_g."+s.d.Quote(k))
		same = append(same, "slotsql_g."+s.d.Quote(k)+" = "+keys[i])
		match = append(match, keys[i]+" = slotsql_h.slotsql_k"+n)
	}
	for i, name := range c.Counters {
		group = append(group, "SUM(slotsql_g."+s.d.Quote(name)+") AS slotsql_c"+formatUint(uint64(i)))
	}

	sums := "SELECT " + strings.Join(group, ", ") + " FROM " + slots + " AS slotsql_g GROUP BY " + strings.Join(groupBy, ", ")
	band, pruned := s.bandOf(&tp, ordered)
	var conds, hotConds []string
	if s.q.Where != nil {
		conds = append(conds, "("+tp.mark(s.src.cut(s.q.Where.Span))+")")
		hotConds = append(hotConds, "("+tp.mark(s.src.cutEdited(s.q.Where.Span, s.hotEdits(s.q.Where)))+")")
	}
	tail, hotTail := "", ""
	if ordered {
		// A scalar subquery is evaluated row by row in the index's order, and
		// stops with the limit; an anti-join would read the whole table.
		conds = append(conds, "(SELECT 1 FROM "+slots+" AS slotsql_g WHERE "+strings.Join(same, " AND ")+" LIMIT 1) IS NULL")
		if pruned {
			conds = append(conds, "NOT (SELECT slotsql_few FROM slotsql_n)")
		}
		limit := tp.mark(s.limit)
		tail = " ORDER BY " + s.orderBy(&tp, false) + " LIMIT " + limit
		hotTail = " ORDER BY " + s.orderBy(&tp, true) + " LIMIT " + limit
	}
	cold := "SELECT " + aliased(keys) + " FROM " + from
	if len(conds) > 0 {
		cold += " WHERE " + strings.Join(conds, " AND ")
	}
	cold += tail
	hot := func(h, cond string) string {
		list := hotConds
		if cond != "" {
			list = append([]string{cond}, list...)
		}
		text := "SELECT " + aliased(keys) + " FROM " + h + " "
		switch {
		case pruned:
			// An array's length is unknown to the planner, which takes it for
			// short: the rows are looked up by their key, not hashed.
			text += "CROSS JOIN " + from
			list = append([]string{match[0], keys[0] + " = ANY (ARRAY(SELECT slotsql_k0 FROM slotsql_h))"}, list...)
		case s.d.Traits().Lateral:
			// A correlated source is looked up by its key, whatever the
			// planner thinks of reading the whole table.
			text += "CROSS JOIN LATERAL (SELECT * FROM " + from + " WHERE " + strings.Join(match, " AND ") + " LIMIT 1) AS " + q
		default:
			text += "CROSS JOIN " + from
			list = append(slices.Clone(match), list...)
		}
		if len(list) > 0 {
			text += " WHERE " + strings.Join(list, " AND ")
		}
		return text + hotTail
	}
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = "slotsql_k" + formatUint(uint64(i))
	}
	list := strings.Join(names, ", ")
	var candidates string
	if pruned {
		candidates = s.threshold(&tp, band, ordered, sums, cold, func(cond string) string { return hot("slotsql_h", cond) })
	} else {
		candidates = "SELECT " + list + " FROM (SELECT " + list + " FROM (" + cold + ") AS slotsql_cold UNION ALL SELECT " + list +
			" FROM (" + hot("("+sums+") AS slotsql_h", "") + ") AS slotsql_hot) AS slotsql_u"
	}
	in := "(" + strings.Join(keys, ", ") + ") IN (" + candidates + ")"

	text := &s.src.text
	end := len(*text)
	if s.q.Where == nil {
		return tp.expand(s.d, tp.mark(s.src.cutEdited(Span{0, s.where}, s.edits))+" WHERE "+in+tp.mark(s.src.cutEdited(Span{s.where, end}, s.edits)))
	}
	w := s.q.Where.Span
	return tp.expand(s.d, tp.mark(s.src.cutEdited(Span{0, w.Start}, s.edits))+"("+tp.mark(s.src.cutEdited(w, s.edits))+") AND "+in+
		tp.mark(s.src.cutEdited(Span{w.End, end}, s.edits)))
}

func aliased(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k + " AS slotsql_k" + formatUint(uint64(i))
	}
	return strings.Join(out, ", ")
}

// hotEdits replaces counters by base value plus the grouped sum.
func (s *splitter) hotEdits(e *Expr) []edit {
	var out []edit
	e.Walk(func(x *Expr) bool {
		if s.isCounter(x) {
			t, _ := s.resolve(s.sc, x.Name)
			out = append(out, edit{x.Span, s.hotTotal(t.column.Name)})
		}
		return true
	})
	return out
}

func (s *splitter) hotTotal(column string) string {
	base := s.qualifier(s.b) + "." + s.d.Quote(column)
	if s.b.table.Companion(column) != nil {
		return s.d.Total(s.b.table, s.qualifier(s.b), column, true)
	}
	for i, c := range s.b.table.Counter.Counters {
		if c == column {
			return "(" + base + " + slotsql_h.slotsql_c" + formatUint(uint64(i)) + ")"
		}
	}
	return base
}

func (s *splitter) orderBy(tp *template, hot bool) string {
	var out []string
	for _, o := range s.order {
		t, _ := s.resolve(s.sc, o.expr.Name)
		var text string
		switch {
		case t == nil || t.column == nil:
			text = tp.mark(s.src.cut(o.expr.Span))
		case hot:
			text = s.hotTotal(t.column.Name)
		default:
			text = s.qualifier(s.b) + "." + s.d.Quote(t.column.Name)
		}
		if o.tail != "" {
			text += " " + o.tail
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

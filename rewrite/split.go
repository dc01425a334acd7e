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
// candidates first, each with the sums of its slots, and joins the query's
// table to them by key:
//
//	FROM (candidates) AS slotsql_c CROSS JOIN posts WHERE posts.id = slotsql_c.slotsql_k0 AND (...)
//
// In the rest of the query a counter is its base value plus the sum that came
// with the candidate. It is exact: every row that the query would return is a
// candidate, no key is a candidate twice, the sums are right, and the query
// itself judges, orders and cuts the candidates.
//
// Candidates are the first rows by base value and those whose slots lift them
// over the rest (threshold.go). Where the query has no such bound they are
//
//   - cold: rows without slots that WHERE selects by base value, in the
//     query's own order and up to its limit; the first n of a set are among
//     the first n of each of its parts
//   - hot: all rows with slots

// split rewrites a query over one counter table that orders by a counter with
// a limit, or compares one with a constant; nil when the query has another
// form, for which substitution serves.
func (p *planning) split(st *Statement, edits []edit) (Bound, string, bool) {
	q := st.Select
	if !p.d.Traits().Split || p.src.hasWord("SQL_CALC_FOUND_ROWS") || p.mistyped(nil) != "" {
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

	used []int    // the counters that the query reads, by their place in Counters
	keys []string // the key columns of the query's table
	k, c string   // lists of the candidates' columns: keys, sums
	tp   template
}

// build writes the split query.
func (s *splitter) build(ordered bool) Bound {
	c := s.b.table.Counter
	q := s.qualifier(s.b)
	b, pruned := s.bandOf(ordered)
	edits := s.carried(b)
	var k, sums, match []string
	for i, name := range c.Key {
		s.keys = append(s.keys, q+"."+s.d.Quote(name))
		k = append(k, keyName(i))
		match = append(match, s.keys[i]+" = slotsql_c."+k[i])
	}
	for _, i := range s.used {
		sums = append(sums, sumName(i))
	}
	s.k, s.c = strings.Join(k, ", "), strings.Join(sums, ", ")
	var candidates string
	if pruned {
		candidates = s.threshold(b)
	} else {
		candidates = s.cold(ordered, "") + " UNION ALL " + s.hot("", "COUNT(*) > 0")
	}

	text, end := &s.tp, len(s.src.text)
	part := func(start, end int) string { return text.mark(s.src.cutEdited(Span{start, end}, edits)) }
	out := part(0, s.from.Start) + "(" + candidates + ") AS slotsql_c " + s.d.Traits().OrderedJoin + " "
	if s.q.Where == nil {
		out += part(s.from.Start, s.where) + " WHERE " + strings.Join(match, " AND ") + part(s.where, end)
	} else {
		w := s.q.Where.Span
		out += part(s.from.Start, w.Start) + strings.Join(match, " AND ") + " AND (" + part(w.Start, w.End) + ")" + part(w.End, end)
	}
	return text.expand(s.d, out)
}

// The candidates' columns.
func keyName(i int) string { return "slotsql_k" + formatUint(uint64(i)) }
func sumName(i int) string { return "slotsql_c" + formatUint(uint64(i)) }

// carried returns the query's edits with the sums that come with a candidate
// in the place of those that Total looks up, and notes which counters they
// read. What is looked up otherwise, as a companion is, is right as it is.
func (s *splitter) carried(b band) []edit {
	t, q := s.b.table, s.qualifier(s.b)
	out := slices.Clone(s.edits)
	for i, name := range t.Counter.Counters {
		found := b.column != nil && b.column.Name == name
		total := s.d.TotalOf(t, q, name, "slotsql_c."+sumName(i))
		for _, comparable := range []bool{false, true} {
			looked := s.d.Total(t, q, name, comparable)
			for j, e := range out {
				if strings.Contains(e.text, looked) {
					out[j].text, found = strings.ReplaceAll(e.text, looked, total), true
				}
			}
		}
		if found {
			s.used = append(s.used, i)
		}
	}
	return out
}

// sumsOf writes a row's sums, found by its key, and their names.
func (s *splitter) sumsOf(keys []string) string {
	var out []string
	for _, i := range s.used {
		out = append(out, s.sumOf(i, keys)+" AS "+sumName(i))
	}
	return strings.Join(out, ", ")
}

func (s *splitter) sumOf(i int, keys []string) string {
	c := s.b.table.Counter
	return "COALESCE((SELECT SUM(slotsql_g." + s.d.Quote(c.Counters[i]) + ") FROM " + s.slotsOf(keys, c.Counters[i]) + "), 0)"
}

// slotsOf writes the slots of a row, those of some counters.
func (s *splitter) slotsOf(keys []string, counters ...string) string {
	var same []string
	for i, k := range s.b.table.Counter.Key {
		same = append(same, "slotsql_g."+s.d.Quote(k)+" = "+keys[i])
	}
	return SlotSource(s.d, s.b.table, counters...) + " AS slotsql_g WHERE " + strings.Join(same, " AND ")
}

// cold writes the rows without slots, which the query takes if their base
// values are the totals.
func (s *splitter) cold(ordered bool, cond string) string {
	// A scalar subquery is evaluated row by row in the index's order, and
	// stops with the limit; an anti-join would read the whole table.
	conds := []string{"(SELECT 1 FROM " + s.slotsOf(s.keys, s.b.table.Counter.Counters...) + " LIMIT 1) IS NULL"}
	if s.q.Where != nil {
		conds = append([]string{"(" + s.tp.mark(s.src.cut(s.q.Where.Span)) + ")"}, conds...)
	}
	if cond != "" {
		conds = append(conds, cond)
	}
	text := "SELECT " + aliased(s.keys) + " FROM " + s.table() + " WHERE " + strings.Join(conds, " AND ")
	if ordered {
		text += " ORDER BY " + s.orderBy() + " LIMIT " + s.tp.mark(s.limit)
	}
	names := ""
	for _, i := range s.used {
		names += ", 0 AS " + sumName(i)
	}
	return "SELECT " + s.k + names + " FROM (" + text + ") AS slotsql_cold"
}

// hot writes the rows with slots and their sums, those of them for which a
// condition on the sums holds. It is written as an equality because an engine
// takes that to hold for few rows, and looks these up by their keys.
func (s *splitter) hot(where, having string) string {
	c := s.b.table.Counter
	var list, group []string
	for i, k := range c.Key {
		group = append(group, "slotsql_g."+s.d.Quote(k))
		list = append(list, group[i]+" AS "+keyName(i))
	}
	for _, i := range s.used {
		list = append(list, "SUM(slotsql_g."+s.d.Quote(c.Counters[i])+") AS "+sumName(i))
	}
	if where != "" {
		where = " WHERE " + where
	}
	if having != "" {
		having = " HAVING CASE WHEN " + having + " THEN 1 END = 1"
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + SlotSource(s.d, s.b.table, c.Counters...) + " AS slotsql_g" + where +
		" GROUP BY " + strings.Join(group, ", ") + having
}

// table writes the FROM clause's table.
func (s *splitter) table() string { return s.tp.mark(s.src.cut(s.from)) }

func aliased(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k + " AS " + keyName(i)
	}
	return strings.Join(out, ", ")
}

// orderBy writes the query's ORDER BY with base values.
func (s *splitter) orderBy() string {
	var out []string
	for _, o := range s.order {
		text := s.tp.mark(s.src.cut(o.expr.Span))
		if t, _ := s.resolve(s.sc, o.expr.Name); t != nil && t.column != nil {
			text = s.qualifier(s.b) + "." + s.d.Quote(t.column.Name)
		}
		if o.tail != "" {
			text += " " + o.tail
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

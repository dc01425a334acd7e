package rewrite

import "strings"

// This file writes the two queries of groups.

// moved returns the name of an aggregate in the query of base rows.
func (g *groupSummer) moved(e *Expr) string {
	f := g.src.cut(e.Span)
	text := g.tp.mark(f)
	if len(f.args) == 0 {
		text = f.parts[0]
	}
	if i, ok := g.of[text]; ok {
		return aggName(i)
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.of[text] = len(g.aggs)
	g.aggs = append(g.aggs, text)
	return aggName(len(g.aggs) - 1)
}

func aggName(i int) string { return "slotsql_a" + formatUint(uint64(i)) }

func sumName(i int) string { return "slotsql_c" + formatUint(uint64(i)) }

// source writes the two queries.
func (g *groupSummer) source() string {
	t, q := g.b.table, g.qualifier(g.b)
	ref := g.src.sql[g.q.From[0].Ref.Start:g.q.From[0].Ref.End]
	var keys, by []string
	nullable := false
	for i, k := range g.keys {
		text := g.src.sql[k.Start:k.End]
		by = append(by, text)
		keys = append(keys, text+" AS "+keyName(i))
		c := t.Column(g.targetColumnOf(k))
		nullable = nullable || c == nil || c.Nullable
	}
	same := " = "
	if nullable {
		same = g.d.Traits().NullsEqual
	}
	var on []string
	for i := range keys {
		on = append(on, "slotsql_h."+keyName(i)+same+"slotsql_b."+keyName(i))
	}
	if same == "" {
		keys = append(keys, "ROW("+strings.Join(by, ", ")+") AS slotsql_r")
		on = []string{"slotsql_h.slotsql_r = slotsql_b.slotsql_r"}
	}
	base, slots := keys[:len(keys):len(keys)], keys[:len(keys):len(keys)]
	for i, a := range g.aggs {
		base = append(base, a+" AS "+aggName(i))
	}
	var held, match, counters []string
	for i, k := range t.Counter.Key {
		held = append(held, "slotsql_s."+g.d.Quote(k)+" AS slotsql_x"+formatUint(uint64(i)))
		match = append(match, "slotsql_g.slotsql_x"+formatUint(uint64(i))+" = "+q+"."+g.d.Quote(k))
	}
	for i, c := range g.sums {
		held = append(held, "slotsql_s."+g.d.Quote(c.Name)+" AS slotsql_v"+formatUint(uint64(i)))
		value := "slotsql_g.slotsql_v" + formatUint(uint64(i))
		if c.Nullable {
			value = "CASE WHEN " + q + "." + g.d.Quote(c.Name) + " IS NOT NULL THEN " + value + " END"
		}
		slots = append(slots, "SUM("+value+") AS "+sumName(i))
		counters = append(counters, c.Name)
	}
	where := func() string {
		if g.q.Where == nil {
			return ""
		}
		return " WHERE " + g.tp.mark(g.src.cut(g.q.Where.Span))
	}
	groupBy := " GROUP BY " + strings.Join(by, ", ")
	return "(SELECT " + strings.Join(base, ", ") + " FROM " + ref + where() + groupBy + ") AS slotsql_b LEFT JOIN (SELECT " +
		strings.Join(slots, ", ") + " FROM (SELECT " + strings.Join(held, ", ") + " FROM " + SlotSource(g.d, t, counters...) +
		" AS slotsql_s) AS slotsql_g JOIN " + ref + " ON " + strings.Join(match, " AND ") + where() + groupBy + g.d.Traits().Unmerged +
		") AS slotsql_h ON " + strings.Join(on, " AND ")
}

// targetColumnOf returns the column that a key is, or "".
func (g *groupSummer) targetColumnOf(e *Expr) string {
	if e = unparen(e); e.Kind != ColumnRef {
		return ""
	}
	return g.targetColumn(g.sc, g.b, e.Name)
}

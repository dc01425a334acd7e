package random

import "strings"

// judged writes aggregates of all rows that conditions on counters leave, or of what CASE makes of counters.
func (g *generator) judged() string {
	t := g.counterTable()
	if g.large != nil && g.one(3) {
		t = g.large
	}
	any := func() string { return g.quote(either(g, t.counters()).name) }
	value := func() string {
		c := any()
		switch g.IntN(9) {
		case 0, 1:
			return c
		case 8:
			if !g.pg() {
				return g.judgement(t)
			}
		case 2:
			return "COALESCE(" + c + ", " + any() + ", 1)"
		case 3:
			return "CASE WHEN " + g.judgement(t) + " THEN " + c + " END"
		case 4:
			return "CASE WHEN " + g.judgement(t) + " THEN 1 WHEN " + g.judgement(t) + " THEN -2 ELSE 0 END"
		case 5:
			return "CASE " + c + " WHEN 1 THEN 10 WHEN " + any() + " THEN 5 END"
		case 6:
			return "-3"
		}
		if n := g.numberColumn(t); n != nil {
			return g.quote(n.name)
		}
		return c
	}
	filter := func() string {
		if g.my() || !g.one(5) {
			return ""
		}
		return " FILTER (WHERE " + g.judgement(t) + ")"
	}
	var items []string
	for range 1 + g.IntN(4) {
		items = append(items, g.pick("COUNT(*)"+filter(), "SUM("+value()+")"+filter(), "MAX("+value()+")"+filter(), "COUNT("+value()+")"+filter(),
			"COUNT(*)", "COUNT( * )", "COUNT("+value()+")", "SUM("+value()+")", "sum("+value()+")", "MAX("+value()+")",
			"MIN("+value()+")", "AVG("+any()+")", "COALESCE(SUM("+value()+"), 0)", "COUNT(*) * 2 + 1", "COUNT(DISTINCT "+any()+")")+
			g.pick("", "", " AS x"+itoa(len(items))))
	}
	query := "SELECT " + strings.Join(items, ", ") + " FROM " + g.tableName(t)
	var conds []string
	for range g.IntN(3) {
		conds = append(conds, g.judgement(t))
	}
	if o := t.valued(); len(o) > 0 && g.one(3) {
		c := either(g, o)
		conds = append(conds, g.quote(c.name)+g.pick(" = ", " <> ", " >= ")+g.value(either(g, c.values)))
	}
	if len(t.key) == 1 && g.one(5) {
		conds = append(conds, any()+g.pick(" > ", " <= ")+g.boundOf(t, any()))
	}
	g.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
	if len(conds) > 0 {
		query += " WHERE " + strings.Join(conds, " AND ")
	}
	return query + g.pick("", "", " LIMIT 1")
}

// judgement writes a condition on counters of a table.
func (g *generator) judgement(t *table) string {
	c, d := g.quote(either(g, t.counters()).name), g.quote(either(g, t.counters()).name)
	n := func() string { return g.value(either(g, smallNumbers)) }
	return g.pick(
		c+either(g, comparisons)+n(),
		n()+either(g, comparisons)+c,
		c+either(g, comparisons)+d,
		c+" BETWEEN "+n()+" AND "+d,
		c+" IN ("+n()+", 2, 5)",
		c+" NOT IN (1, "+n()+")",
		c+" IS NULL",
		c+" IS NOT NULL",
		"("+c+" > 1 OR "+d+either(g, comparisons)+n()+")",
		"NOT ("+c+" < "+n()+" AND "+d+" IS NOT NULL)",
		"COALESCE("+c+", 1) > "+n(),
	)
}

package random

import "strings"

// addedUp writes a query with blocks inside that add counters up: scalar subqueries, queries in FROM and of WITH, and
// operands of UNION.
func (g *generator) addedUp() string {
	t := g.counterTable()
	c, name := g.quote(either(g, t.counters()).name), g.tableName(t)
	switch g.IntN(9) {
	case 0:
		return "SELECT (" + g.oneSum() + ") AS a, (" + g.oneSum() + ") AS b"
	case 1:
		return "SELECT " + c + " - (" + g.oneSum() + ") FROM " + name + g.pick("", " WHERE "+g.judgement(t))
	case 2:
		return "SELECT " + c + " FROM " + name + " WHERE " + c + either(g, comparisons) + "(" + g.oneSum() + ")"
	case 3:
		return "SELECT " + g.pick("COUNT(*)", "SUM("+c+")", "MAX("+c+")") + " FROM " + name +
			" WHERE " + c + either(g, comparisons) + "(" + g.oneSum() + ")"
	case 4:
		return g.oneSum() + g.pick(" UNION ALL ", " UNION ", " EXCEPT ") + g.oneSum() + g.pick("", " ORDER BY 1")
	case 5:
		return "WITH d AS (" + g.sumsByGroup() + ") SELECT " + g.pick("*", "COUNT(*)") + " FROM d" +
			g.pick("", " UNION ALL SELECT "+g.pick("*", "COUNT(*)")+" FROM d")
	case 6:
		return "SELECT " + c + " FROM " + name + " WHERE " + c + g.pick("", " NOT") + " IN (" + g.oneSum() + g.pick("", " GROUP BY "+c) + ")"
	case 7:
		return "SELECT COUNT(*), " + g.pick("SUM", "MIN") + "(d.a) FROM (" + strings.Replace(g.oneSum(), " FROM ", " AS a FROM ", 1) + ") AS d"
	}
	return "SELECT * FROM (" + g.pick(g.sumsByGroup(), g.judged()) + ") AS d"
}

// oneSum writes a query of one aggregate.
func (g *generator) oneSum() string {
	t := g.counterTable()
	c, d := g.quote(either(g, t.counters()).name), g.quote(either(g, t.counters()).name)
	query := "SELECT " + g.pick("SUM("+c+")", "SUM("+c+")", "COUNT(*)", "COUNT("+c+")", "MAX("+c+")", "AVG("+c+")", "SUM("+c+") + 1",
		"COALESCE(SUM("+c+"), 0)", "SUM(CASE WHEN "+g.judgement(t)+" THEN 1 ELSE 0 END)", "MIN("+c+") + MAX("+d+")") + " FROM " + g.tableName(t)
	var conds []string
	if g.one(2) {
		conds = append(conds, g.judgement(t))
	}
	if o := t.valued(); len(o) > 0 && g.one(3) {
		column := either(g, o)
		conds = append(conds, g.quote(column.name)+g.pick(" = ", " <> ", " >= ")+g.value(either(g, column.values)))
	}
	if len(conds) > 0 {
		query += " WHERE " + strings.Join(conds, " AND ")
	}
	return query
}

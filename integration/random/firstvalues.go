package random

import "strings"

// firstValues writes a query of the first values of a counter, and of the groups that have them; and, in
// no order, of all values. It reports whether the rows have an order.
func (g *generator) firstValues() (string, bool) {
	t := g.counterTable()
	if g.large != nil && g.one(3) {
		t = g.large
	}
	c := g.quote(either(g, t.counters()).name)
	columns := []string{c}
	if o := t.valued(); len(o) > 0 && g.one(3) {
		columns = append(columns, g.quote(either(g, o).name))
	} else if d := g.quote(either(g, t.counters()).name); d != c && g.one(3) {
		columns = append(columns, d)
	}
	g.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	var items, order, rest []string
	for i, column := range columns {
		name := column
		switch g.IntN(6) {
		case 0:
			items, name = append(items, column+" AS n"+itoa(i)), "n"+itoa(i)
		case 1:
			items, name = append(items, column), itoa(i+1)
		default:
			items = append(items, column)
		}
		if column == c {
			order = append(order, name+g.direction())
		} else {
			rest = append(rest, name+g.direction())
		}
	}
	where := ""
	if g.one(2) {
		where = " WHERE " + g.judgement(t)
	}
	query, group := "SELECT DISTINCT ", ""
	if g.one(2) {
		query = "SELECT "
		group = " GROUP BY " + strings.Join(columns, ", ")
		for range 1 + g.IntN(2) {
			e := g.quote(either(g, t.counters()).name)
			items = append(items, g.pick("COUNT(*)", "SUM("+e+")", "MAX("+e+")", "COUNT("+e+")")+" AS a"+itoa(len(items)))
		}
		if g.one(8) {
			group += " HAVING COUNT(*) " + g.pick("> 1", "< 3")
		}
	}
	query += strings.Join(items, ", ") + " FROM " + g.tableName(t) + where + group
	if g.one(4) {
		if g.my() && strings.HasPrefix(group, " GROUP BY") && !strings.Contains(group, "HAVING") && g.one(3) {
			query += " WITH ROLLUP"
		}
		return query, false
	}
	return query + " ORDER BY " + strings.Join(append(order, rest...), ", ") + g.limit(), true
}

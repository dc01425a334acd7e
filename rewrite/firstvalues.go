package rewrite

import (
	"slices"
	"strings"
)

// The first values of a counter.
//
//	SELECT DISTINCT views FROM posts ORDER BY views DESC LIMIT 10
//	SELECT views, COUNT(*) FROM posts GROUP BY views ORDER BY views DESC LIMIT 10
//
// The first n rows of such a result have the first n totals at most. So ORDER BY is a condition again: the total is at
// least l, for any l that n different totals of the result reach. Those of the rows at the top by base value, as many as
// W has, tell one, if they are different enough. A row outside of W that has slots is then found by its sum, as with first
// rows. One that has none is wanted only if w >= l. Then its base value is among the first n that rows without slots have,
// and all rows with one of these are candidates. If no l is known, so are all rows with slots.
//
// A group whose total is l or more has all its rows among the candidates. Others may lack some, and come behind n groups.
// Rows whose counter is NULL are candidates wherever the engine sorts them.

// firstValues adds the condition of a block that asks for the first values of a counter, and reports whether it has.
func (c *candidates) firstValues() bool {
	q := c.q
	if !q.Distinct && len(q.GroupBy) == 0 || q.Distinct && len(q.DistinctOn) == 0 && c.distinctByKey() ||
		!c.lone || len(q.OrderBy) == 0 || len(q.Limit) == 0 ||
		len(q.Windows) > 0 || q.Having != nil || len(q.Items) == 0 || q.Table || len(c.with) > 0 || c.windowed() || c.groupingSets() ||
		!c.judged() || !c.stableItems() || c.aggregated() && len(q.GroupBy) == 0 || c.src.hasWord("SQL_CALC_FOUND_ROWS") {
		return false
	}
	var ok bool
	if c.tail, ok = c.behindFrom(); !ok {
		return false
	}
	col := c.columnOfResult(q.OrderBy[0])
	tail, sorted := c.direction(q.OrderBy[0])
	rows, limited := c.limit(q)
	if col == nil || !sorted || !limited || !c.tellsApart(col) {
		return false
	}
	w := c.firstWindow(col, strings.HasPrefix(tail, "DESC"), rows, "")
	w.first.values = true
	c.windows, c.near, c.nearPlain = []window{w}, nil, nil
	return true
}

// lastValue writes the last of the first values that the rows at the top by base value tell; NULL if these have fewer.
func (c *candidates) lastValue(w *window, number string) string {
	top := c.shared("slotsql_x"+number, c.meeting(w, nil, sum(w.first.rows, literal(windowRows))))
	values := "SELECT DISTINCT slotsql_v FROM " + top + " AS slotsql_x ORDER BY slotsql_v" + w.direction() +
		" LIMIT " + c.tp.mark(w.first.rows)
	return c.value("slotsql_l"+number, c.lastOf(w, "("+values+")", w.first.rows))
}

// coldValues writes the rows with the first values of rows without slots, if there may be any outside of W.
func (c *candidates) coldValues(w *window, last, bound string) string {
	conds, rows := c.coldRows(w, last, bound)
	base := c.base(w.column)
	values := c.from("DISTINCT "+base+" AS slotsql_v", conds) + " ORDER BY " + w.first.order + " LIMIT " + rows
	in := c.d.Traits().KeyIn
	if in[0] == "" {
		in = [2]string{" IN (", ")"}
	}
	return c.from(c.keyList(), []string{base + in[0] + "SELECT slotsql_v FROM (" + values + ") AS slotsql_f" + in[1]})
}

// tellsApart reports whether rows of the result differ where the counter does: it is one of those that DISTINCT
// compares, and one that the block groups by.
func (c *candidates) tellsApart(col *Column) bool {
	q := c.q
	has := func(list []*Expr) bool {
		return slices.ContainsFunc(list, func(e *Expr) bool { return c.columnOfResult(e) == col })
	}
	switch {
	case len(q.GroupBy) > 0 && !has(q.GroupBy):
		return false
	case len(q.DistinctOn) > 0:
		return has(q.DistinctOn)
	}
	return !q.Distinct || slices.ContainsFunc(q.Items, func(it Item) bool { return it.Expr != nil && c.counter(it.Expr) == col })
}

// columnOfResult returns the counter that an entry of a clause certainly means: by a name that stands for
// nothing else, among the source's columns or the items of the result, or by the place of an item.
func (c *candidates) columnOfResult(e *Expr) *Column {
	x := c.meaning(c.q, e)
	if x == nil {
		return nil
	}
	col := c.counter(x)
	if x != e && e.Kind == ColumnRef && c.inBlock(e.Name) && c.counter(e) != col {
		return nil
	}
	return col
}

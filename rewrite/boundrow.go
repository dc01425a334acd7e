package rewrite

import (
	"slices"
	"strings"
)

// A bound that is the counter of one row:
//
//	SELECT COUNT(*) + 1 FROM posts WHERE views > (SELECT views FROM posts WHERE id = 7)
//
// MariaDB and MySQL look up the value of such a query before they choose how to read the table around it, and then read a
// range of the counter's index. They do not if the query has another inside that names its row, as a total does:
// then they read the whole index, for each place that has the bound. So there the row's slots are joined to the row:
//
//	(SELECT MAX(views) + SUM(slotsql_v)
//	 FROM posts LEFT JOIN (SELECT id AS slotsql_k0, views AS slotsql_v FROM posts_slots) AS slotsql_r ON slotsql_k0 = posts.id
//	 WHERE id = 7)
//
// A unique key fixes the row, so MAX is of one value, and the sum is that of its slots. Without such a row both queries are
// NULL.

// joinRow joins the slots to the row of a bound that is the counter of one.
func (c *candidates) joinRow(q *Select) {
	d, ok := c.d.(JoiningDialect)
	if !ok || c.d.Traits().LooksUpSums {
		return
	}
	item := unparen(q.Items[0].Expr)
	sc := c.replaced[item.Span]
	if sc == nil || len(sc.bindings) != 1 || len(q.OrderBy)+len(q.Limit) > 0 || item.Kind != ColumnRef {
		return
	}
	b := sc.bindings[0]
	t, ref := b.table, b.source.Ref
	col := t.Column(item.Name[len(item.Name)-1].Name)
	rows := c.fixedRows(sc, b, q.Where)
	if col == nil || !t.IsCounter(col.Name) || rows == nil || !rows.single || !c.src.is(c.src.tokenAt(ref.End), "WHERE") {
		return
	}
	at := slices.IndexFunc(c.edits, func(e edit) bool { return e.Span == item.Span })
	if at < 0 || slices.ContainsFunc(c.edits, func(e edit) bool { return e.within(Span{ref.Start, q.End}) }) {
		return
	}
	qualifier := c.qualifier(b)
	var on []string
	for i, k := range t.Counter.Key {
		on = append(on, "slotsql_r."+keyName(i)+" = "+qualifier+"."+c.d.Quote(k))
	}
	held := append(asKeys(c.slotKeys(t)), "slotsql_g."+c.d.Quote(col.Name)+" AS slotsql_v")
	slots := queryOf(strings.Join(held, ", "), SlotSource(c.d, t, col.Name)+" AS slotsql_g", nil)
	c.edits[at].sql = d.JoinedTotal(t, col.Name, "MAX("+qualifier+"."+c.d.Quote(col.Name)+")", "SUM(slotsql_r.slotsql_v)")
	c.edits = append(c.edits, edit{Span{ref.End, ref.End}, " LEFT JOIN (" + slots + ") AS slotsql_r ON " + strings.Join(on, " AND ")})
}

package rewrite

import (
	"slices"
	"strings"
)

// The first rows by a counter behind other columns.
//
//	SELECT id FROM posts ORDER BY pinned DESC, views DESC LIMIT 20
//
// Slots change the order of rows that are equal in the columns before the counter, and of no others. So let p be what
// the last of the first n rows by base value has in these columns. Fewer than n rows come before p, the same ones by base
// values and by totals, and n or more do not come behind it. The result has all rows before p, which are among the first
// n by base value, and of those with p the first ones by the counter: the windows are theirs.

// leading is a column before the counter, and its direction.
type leading struct{ column, sql, tail string }

// leads reports whether an ORDER BY entry may stand before the counter: a column of the block's only source that is never
// NULL, in a block whose conditions say nothing of counters.
func (c *candidates) leads(x *Expr) bool {
	if c.around != nil || !c.lone || !c.told() {
		return false
	}
	col := c.b.table.Column(c.targetColumn(c.sc, c.b, x.Name))
	return col != nil && !col.Nullable && !c.b.table.IsSlotted(col.Name)
}

// indexed reports whether an index has the rows in the order of the columns before a counter, and of the counter: without
// one each look for the first rows would sort all of them. Columns that a condition fixes may stand before. All of those
// do where the engine does not estimate: of few rows that another index finds it might read all in this one's order.
func (c *candidates) indexed(before []leading, counter *Column, down bool) bool {
	var order []string
	for _, l := range before {
		if strings.HasPrefix(l.tail, " DESC") != down {
			return false
		}
		order = append(order, l.column)
	}
	order = append(order, counter.Name)
	_, estimates := c.d.(EstimatingDialect)
	return len(before) == 0 || slices.ContainsFunc(c.b.table.Storage.Orders, func(index []string) bool {
		fixed := 0
		for fixed < len(index) && c.fixedColumn(index[fixed]) {
			fixed++
		}
		index = index[fixed:]
		return len(index) >= len(order) && slices.Equal(index[:len(order)], order) && (estimates || fixed >= c.fixedColumns())
	})
}

// fixedColumns counts the columns that conditions of the block fix.
func (c *candidates) fixedColumns() int {
	n := 0
	for i := range c.b.table.Columns {
		if c.fixedColumn(c.b.table.Columns[i].Name) {
			n++
		}
	}
	return n
}

// fixedColumn reports whether a condition of the block says that a column equals a constant.
func (c *candidates) fixedColumn(name string) bool {
	if c.q.Where == nil {
		return false
	}
	return slices.ContainsFunc(conjuncts(c.q.Where, nil), func(e *Expr) bool {
		e = unparen(e)
		if e.Kind != Binary || e.Op != "=" || len(e.Args) != 2 {
			return false
		}
		is := func(x, value *Expr) bool {
			x = unparen(x)
			return x.Kind == ColumnRef && c.targetColumn(c.sc, c.b, x.Name) == name && constant(value)
		}
		return is(e.Args[0], e.Args[1]) || is(e.Args[1], e.Args[0])
	})
}

// behind notes the columns before the counter of a window.
func (c *candidates) behind(w *window, columns []leading) {
	var list, reverse []string
	for i, l := range columns {
		list = append(list, l.sql+" AS "+leadingName(i))
		tail := " DESC"
		if strings.HasPrefix(l.tail, " DESC") {
			tail = ""
		}
		reverse = append(reverse, leadingName(i)+tail)
	}
	for i, l := range columns {
		top := c.from(strings.Join(list, ", "), slices.Clone(c.rest)) + " ORDER BY " + w.first.order + " LIMIT " + c.tp.mark(w.first.rows)
		last := "SELECT " + leadingName(i) + " AS slotsql_v FROM " + c.shared("slotsql_t", top) + " AS slotsql_t ORDER BY " +
			strings.Join(reverse, ", ") + " LIMIT 1"
		w.first.last = append(w.first.last, l.sql+" = "+c.value("slotsql_p"+formatUint(uint64(i)), last))
	}
}

func leadingName(i int) string { return "slotsql_o" + formatUint(uint64(i)) }

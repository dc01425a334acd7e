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
func (c *candidates) indexed(before []leading, counter *Column, down bool, fixed fixedByBlock) bool {
	if len(before) == 0 {
		return true
	}
	var order []string
	for _, l := range before {
		if strings.HasPrefix(l.tail, " DESC") != down {
			return false
		}
		order = append(order, l.column)
	}
	order = append(order, counter.Name)
	_, estimates := c.d.(EstimatingDialect)
	return slices.ContainsFunc(c.b.table.Storage.Orders, func(index []string) bool {
		for n := 0; len(index)-n >= len(order); n++ {
			if slices.Equal(index[n:n+len(order)], order) {
				return estimates || n >= len(fixed)
			}
			if _, ok := fixed[index[n]]; !ok {
				return false
			}
		}
		return false
	})
}

// fixedByBlock has the columns that conditions of a block fix to one constant each. True is for those of which all rows
// have the same value then; of the others an engine may find more than one value equal to the constant, as MySQL does
// when it compares text with a number.
type fixedByBlock map[string]bool

// fixed returns the columns that the block's conditions fix.
func (c *candidates) fixed() fixedByBlock {
	fixed := fixedByBlock{}
	if c.q.Where == nil {
		return fixed
	}
	for _, e := range equalities(c.q.Where) {
		column, values := c.equated(c.sc, c.b, e)
		if column == nil || column.Kind != ColumnRef || len(values) > 1 || !constant(values[0]) {
			continue
		}
		if name := c.targetColumn(c.sc, c.b, column.Name); name != "" {
			cast := unparen(values[0]).Kind == Opaque
			fixed[name] = fixed[name] || !cast && c.comparesAlike(c.b.table.Column(name), values)
		}
	}
	return fixed
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

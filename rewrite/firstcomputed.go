package rewrite

import (
	"slices"
	"strings"
)

// The first rows by what is computed of counters.
//
//	SELECT id FROM posts ORDER BY ups - downs DESC LIMIT 20
//	SELECT id, views * 2 + likes AS score FROM posts ORDER BY score DESC LIMIT 20
//
// No window tells how far slots move a row in such an order. But a row without slots has the same values by base values as
// by totals, and few rows have slots. So candidates are all rows with slots and, of those without, the first n in the
// block's order: of these a row behind n others is behind them in the result, too. All rows are computed once and sorted,
// which plain does as well, but no slots are looked for beside the candidates'.

// computedOrder adds the first rows in an order that is computed of counters, in a block that has no other candidates. By
// what comes first in the order: where that reads no counter, the engine may have rows in its order from an index, and
// compute counters for the few that are equal in it.
func (c *candidates) computedOrder() {
	q := c.q
	if len(c.windows) > 0 || len(q.OrderBy) == 0 || len(q.Limit) == 0 || c.windowed() || c.src.hasWord("SQL_CALC_FOUND_ROWS") {
		return
	}
	if _, estimates := c.d.(EstimatingDialect); !estimates && c.constants { // of few rows it would list all with slots
		return
	}
	var order []string
	var counter *Column
	for i, e := range q.OrderBy {
		x := c.computed(e)
		tail, ok := c.direction(e)
		if x == nil || !ok {
			return
		}
		if i == 0 {
			if counter = c.anyCounter(x); counter == nil {
				return
			}
		}
		if tail != "" {
			tail = " " + tail
		}
		order = append(order, c.byBase(x.Span)+tail)
	}
	if rows, ok := c.limit(q); ok {
		c.windows = append(c.windows, window{column: counter, op: everySum, first: &firstRows{rows: rows, order: strings.Join(order, ", ")}})
	}
}

// computed returns the expression that an ORDER BY entry certainly means, of the source's columns alone; nil if that is
// not certain. In its text a name means a column wherever it stands.
func (c *candidates) computed(e *Expr) *Expr {
	x := e
	switch {
	case e.Kind == Number:
		x = c.itemAt(c.q, e)
	case e.Kind == ColumnRef && len(e.Name) == 1:
		for _, it := range c.q.Items {
			if it.Alias != nil && c.sameLabel(e.Name[0], *it.Alias) {
				if x != e {
					return nil
				}
				x = it.Expr
			}
		}
	}
	if x == nil || !c.whole(x, x != e) || c.volatile(c.sc, x) != "" || !namesOnly(x, c.computes, nil) {
		return nil
	}
	columns := false
	x.Walk(func(n *Expr) bool {
		columns = columns || n.Kind == ColumnRef
		return !columns
	})
	if !columns { // a constant, which ORDER BY could take for a position
		return nil
	}
	return x
}

// whole reports whether the text of an ORDER BY entry or an item is that of its expression. (PostgreSQL's parser tells no
// place of a sign or a parenthesis before it.) What follows an entry is looked at by direction.
func (c *candidates) whole(x *Expr, item bool) bool {
	i, j := c.src.tokenAt(x.Start)-1, c.src.tokenAt(x.End)
	is := func(token int, words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return c.src.is(token, w) })
	}
	if !item {
		return is(i, "BY", ",")
	}
	return is(i, "SELECT", "DISTINCT", "ALL", ",") && is(j, "AS", ",", "FROM")
}

// computes reports whether a name is the source's column, and not in an ORDER BY the name of an item.
func (c *candidates) computes(name []Ident) bool { return c.ownColumn(name) && !c.isItem(name) }

// anyCounter returns a counter of the source that an expression reads, or nil.
func (c *candidates) anyCounter(e *Expr) (found *Column) {
	e.Walk(func(x *Expr) bool {
		if found == nil {
			found = c.counter(x)
		}
		return found == nil
	})
	return found
}

// coldComputed writes the first rows without slots. Where LIMIT takes an expression they are among the first of all rows,
// of which no more than there are keys with slots can be others.
func (c *candidates) coldComputed(w *window) string {
	conds, rows, slots := []string(nil), c.tp.mark(w.first.rows), c.slots(c.b.table.Counter.Counters)
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byBase(q.Span)+")")
	}
	if c.d.Traits().LimitIf {
		all := " + (SELECT COUNT(*) FROM (SELECT DISTINCT " + strings.Join(asKeys(c.slotKeys(c.b.table)), ", ") + " FROM " + slots + "))"
		if len(w.first.rows.args) == 0 {
			return c.inOrder(w, conds, rows+all)
		}
		// An argument below zero is no limit, and one that is very large stays in the range of integers.
		return c.inOrder(w, conds, "CASE WHEN "+rows+" + 0 < 0 THEN -1 ELSE min("+rows+", 1000000000000000000)"+all+" END")
	}
	return c.inOrder(w, append(conds, "NOT EXISTS (SELECT 1 FROM "+slots+" WHERE "+c.sameKey()+")"), rows)
}

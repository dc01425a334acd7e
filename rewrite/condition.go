package rewrite

import (
	"slices"
	"strings"
)

// This file writes the condition that names a block's candidates.

// keyName is the name of a key column among the candidates' columns.
func keyName(i int) string { return "slotsql_k" + formatUint(uint64(i)) }

// listed reports whether the condition is one query of all candidates: where the
// engine does not find rows by base value OR by key, or not without fault, and for keys of several
// columns, where none does. (Of arrays of arrays PostgreSQL's ANY takes the elements.)
func (c *candidates) listed() bool {
	if key := c.b.table.Column(c.b.table.Counter.Key[0]); key != nil && strings.HasSuffix(key.Type, "[]") {
		return true
	}
	return len(c.keys) > 1 || c.d.Traits().KeyIn[0] == ""
}

// condition writes it.
func (c *candidates) condition() string {
	var arms []string
	var far, some []string
	for i := range c.windows {
		w := &c.windows[i]
		if w.op == everySum {
			some, far = append(some, "1 = 1"), append(far, "1 = 1")
			continue
		}
		rows, last, bound := c.write(w, i)
		arms = append(arms, "SELECT "+c.keyNames()+" FROM "+rows+" AS slotsql_w")
		arms = append(arms, c.coldArms(w, i, last, bound)...)
		some = append(some, last+" IS NOT NULL")
		far = append(far, "SUM(slotsql_g."+c.d.Quote(w.column.Name)+") + "+last+" "+w.op+" "+bound)
	}
	arms = append(arms, c.far(some, far))
	arms = append(arms, c.notNumbers()...)
	near := strings.Join(c.near, " AND ")
	if c.ofFirst() {
		near = ""
	}
	if c.listed() {
		if near != "" {
			arms = append(arms, c.from(c.keyList(), append([]string{near}, c.rest...)))
		}
		return Tuple(c.keys) + " IN (SELECT " + c.keyNames() + " FROM (" + c.inWith(strings.Join(arms, " UNION ALL ")) + ") AS slotsql_c)"
	}
	in := c.d.Traits().KeyIn
	cond := c.keys[0] + in[0] + c.inWith(strings.Join(arms, " UNION ALL ")) + in[1]
	if near != "" {
		return "(" + near + " OR " + cond + ")"
	}
	if c.keyless {
		return "(" + cond + " OR " + c.keys[0] + " IS NULL)"
	}
	return cond
}

// coldArms writes the queries of rows that no window has, of a block that wants the first ones.
func (c *candidates) coldArms(w *window, i int, last, bound string) []string {
	if w.first == nil {
		return nil
	}
	arms := []string{c.cold(w, last, bound)}
	if w.column.Nullable && len(c.q.OrderBy) > 0 {
		arms = append(arms, c.missing(w))
	}
	if !c.told() {
		met := c.shared("slotsql_x"+formatUint(uint64(i)), c.meeting(w))
		arms = append(arms, "SELECT "+c.keyNames()+" FROM "+met+" AS slotsql_x")
	}
	return arms
}

// told reports whether each row of W meets the block's conditions by base value and by total alike. If not,
// fewer than n rows may meet them although W is full, and where they are is not known.
func (c *candidates) told() bool {
	return c.q.Where == nil || len(c.rest) == len(conjuncts(c.q.Where, nil))
}

// write writes the rows of a window, as FROM takes them; the last of their base
// values, NULL where there are no more such rows; and the bound of their totals.
func (c *candidates) write(w *window, i int) (rows, last, bound string) {
	n, conds := literal(windowRows), slices.Concat(c.rest, w.before)
	if w.first != nil {
		n = sum(w.first.rows, n)
		conds = slices.Concat(conds, c.near)
	}
	if w.edge != "" {
		conds = append(conds, w.edge)
	}
	if c.d.Traits().AnyType {
		conds = append(conds, c.base(w.column)+" < ''")
	}
	number, base := formatUint(uint64(i)), c.base(w.column)
	rows = c.shared("slotsql_w"+number, c.from(c.keyList()+", "+base+" AS slotsql_v", conds)+
		" ORDER BY "+base+w.direction()+" LIMIT "+c.tp.mark(n))
	last = c.value("slotsql_m"+number, c.lastOf(w, rows, n))
	if w.first == nil {
		return rows, last, w.bound
	}
	first := c.shared("slotsql_x"+number, c.meeting(w))
	return rows, last, c.value("slotsql_l"+number, c.lastOf(w, first, w.first.rows))
}

// lastOf writes the last value of n rows, NULL if there are fewer.
func (c *candidates) lastOf(w *window, rows string, n fragment) string {
	last := "MAX"
	if w.down {
		last = "MIN"
	}
	return "SELECT CASE WHEN COUNT(*) = " + c.tp.mark(n) + " THEN " + last + "(slotsql_v) END AS slotsql_v FROM " + rows + " AS slotsql_w"
}

func (w *window) direction() string {
	if w.down {
		return " DESC"
	}
	return ""
}

// meeting writes the first rows, by base value, that meet the block's conditions by
// base value and by total, with their totals.
func (c *candidates) meeting(w *window) string {
	conds := slices.Clone(c.near)
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byTotal(q.Span)+")")
	}
	if w.edge != "" {
		conds = append(conds, w.edge)
	}
	total := c.total(c.b.table, c.qualifier(c.b), w.column.Name, false)
	return c.from(c.keyList()+", "+total+" AS slotsql_v", conds) + " ORDER BY " + c.base(w.column) + w.direction() +
		" LIMIT " + c.tp.mark(w.first.rows)
}

// cold writes the first rows without slots, in the block's order, if there may be
// any outside of W.
func (c *candidates) cold(w *window, last, bound string) string {
	var conds []string
	rows, some := c.tp.mark(w.first.rows), bound+" "+turned[w.op]+" "+last
	if c.d.Traits().LimitIf {
		rows = "CASE WHEN " + some + " THEN " + rows + " ELSE 0 END"
	} else {
		conds = []string{some}
	}
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.asWritten(q.Span)+")")
	}
	if w.edge != "" {
		conds = append(conds, w.edge)
	}
	return c.inOrder(w, append(conds, c.slotless()), rows)
}

// missing writes the first rows whose counter is NULL.
func (c *candidates) missing(w *window) string {
	conds := []string{c.base(w.column) + " IS NULL"}
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byTotal(q.Span)+")")
	}
	return c.inOrder(w, conds, c.tp.mark(w.first.rows))
}

// inOrder writes the first rows that meet conditions, in the block's order.
func (c *candidates) inOrder(w *window, conds []string, rows string) string {
	first := c.from(c.keyList(), conds) + " ORDER BY " + w.first.order + " LIMIT " + rows
	return "SELECT " + c.keyNames() + " FROM (" + first + ") AS slotsql_n"
}

// slotless writes that a row has no slots.
func (c *candidates) slotless() string {
	slots := c.slots(c.b.table.Counter.Counters)
	// A scalar subquery is evaluated row by row in the index's order, and
	// stops with the limit; an anti-join would read the whole table. PostgreSQL expects half of the rows to
	// meet IS NOT TRUE, and one of 200 to meet IS NULL, for which it would rather sort them.
	return "(SELECT TRUE FROM " + slots + " WHERE " + c.sameKey() + " LIMIT 1) IS NOT TRUE"
}

// far writes the rows whose sums carry them over a bound.
func (c *candidates) far(some, conds []string) string {
	var used []string
	if c.ofFirst() { // a row with slots of any counter is not among those without slots
		used = c.b.table.Counter.Counters
	}
	for i := range c.windows {
		if name := c.windows[i].column.Name; !contains(used, name) {
			used = append(used, name)
		}
	}
	group := c.slotKeys(c.b.table)
	return "SELECT " + strings.Join(asKeys(group), ", ") + " FROM " + c.slots(used) + " WHERE " + strings.Join(some, " OR ") +
		" GROUP BY " + strings.Join(group, ", ") + " HAVING " + strings.Join(conds, " OR ")
}

// notNumbers writes the rows whose base value is no number, where a column takes
// values of any type: what is said of sums does not hold for them. Like a window, each query is of the rows
// that meet the conditions before by base value.
func (c *candidates) notNumbers() []string {
	if !c.d.Traits().AnyType {
		return nil
	}
	var out []string
	for i := range c.windows {
		w := &c.windows[i]
		if w.first != nil && w.op == everySum {
			continue // all rows are sorted by what they have
		}
		arm := c.from(c.keyList(), append(slices.Clone(w.before), c.base(w.column)+" >= ''"))
		if !slices.Contains(out, arm) {
			out = append(out, arm)
		}
	}
	return out
}

// from writes a query of the source's table alone.
func (c *candidates) from(list string, conds []string) string {
	return queryOf(list, c.baseRef(c.b.table, c.b), conds)
}

func queryOf(list, from string, conds []string) string {
	out := "SELECT " + list + " FROM " + from
	if len(conds) > 0 {
		out += " WHERE " + strings.Join(conds, " AND ")
	}
	return out
}

func (c *candidates) slots(counters []string) string {
	return SlotSource(c.d, c.b.table, counters...) + " AS slotsql_g"
}

// sameKey is the condition that a slot is one of the source's row.
func (c *candidates) sameKey() string {
	var out []string
	for i, k := range c.slotKeys(c.b.table) {
		out = append(out, k+" = "+c.keys[i])
	}
	return strings.Join(out, " AND ")
}

// slotKeys are the columns of a table's slots that hold the key.
func (c *candidates) slotKeys(t *Table) []string {
	var out []string
	for _, k := range t.Counter.Key {
		out = append(out, "slotsql_g."+c.d.Quote(k))
	}
	return out
}

// keyList writes the key columns under the names that keyNames lists.
func (c *candidates) keyList() string {
	return strings.Join(asKeys(c.keys), ", ")
}

// asKeys gives columns the names that keyNames lists.
func asKeys(columns []string) []string {
	var out []string
	for i, k := range columns {
		out = append(out, k+" AS "+keyName(i))
	}
	return out
}

func (c *candidates) keyNames() string {
	var out []string
	for i := range c.keys {
		out = append(out, keyName(i))
	}
	return strings.Join(out, ", ")
}

// shared returns what FROM names a query by: a WITH query where the engine reads
// such a one once, however often it is named.
func (c *candidates) shared(name, query string) string {
	if !c.d.Traits().SharedWith {
		return "(" + query + ")"
	}
	sql := name + " AS MATERIALIZED (" + query + ")"
	if !slices.ContainsFunc(c.with, func(w string) bool { return strings.HasPrefix(w, name+" AS ") }) {
		c.with = append(c.with, sql)
	}
	return name
}

// value is shared for a query of one value.
func (c *candidates) value(name, query string) string {
	if from := c.shared(name, query); from == name {
		return "(SELECT slotsql_v FROM " + name + ")"
	}
	return "(" + query + ")"
}

func (c *candidates) inWith(sql string) string {
	if len(c.with) == 0 {
		return sql
	}
	return "WITH " + strings.Join(c.with, ", ") + " " + sql
}

// ofFirst reports whether the candidates are those of the first rows.
func (c *candidates) ofFirst() bool {
	return slices.ContainsFunc(c.windows, func(w window) bool { return w.first != nil })
}

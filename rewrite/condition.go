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
	return len(c.keys) > 1 || c.d.Traits().KeyIn[0] == "" || c.parts[c.q] && c.d.Traits().Defects.Has(MergedOr)
}

// condition writes it, of columns that have the values of the key's.
func (c *candidates) condition(columns []string) string {
	var arms []string
	var far, some []string
	for i := range c.windows {
		w := &c.windows[i]
		if cond := c.bySumAlone(w); cond != "" {
			if !contains(far, cond) {
				some, far = append(some, "1 = 1"), append(far, cond)
			}
			if w.first != nil {
				arms = append(arms, c.coldComputed(w))
			}
			continue
		}
		rows, last, bound := c.write(w, i)
		for _, r := range rows {
			arms = append(arms, "SELECT "+c.keyNames()+" FROM "+r+" AS slotsql_w")
		}
		arms = append(arms, c.coldArms(w, i, last, bound)...)
		some = append(some, last+" IS NOT NULL")
		sum := c.sumOf(w.column.Name) + " + " + last
		far = append(far, c.reaches(w, sum, w.op, bound, last))
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
		return Tuple(columns) + " IN (SELECT " + c.keyNames() + " FROM (" + c.inWith(strings.Join(arms, " UNION ALL ")) + ") AS slotsql_c)"
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

// bySumAlone writes the condition on the slots of a window that has no rows of its own; "" for one that has.
func (c *candidates) bySumAlone(w *window) string {
	switch w.op {
	case everySum:
		return "1 = 1"
	case negativeSum:
		return c.sumOf(w.column.Name) + " < 0"
	}
	return ""
}

// coldArms writes the queries of rows that no window has, of a block that wants the first ones.
func (c *candidates) coldArms(w *window, i int, last, bound string) []string {
	switch {
	case w.first == nil:
		return nil
	case w.first.values:
		arms := []string{c.coldValues(w, last, bound)}
		if w.column.Nullable {
			arms = append(arms, c.from(c.keyList(), []string{c.base(w.column) + " IS NULL"}))
		}
		return arms
	}
	arms := []string{c.cold(w, last, bound)}
	if len(w.first.last) > 0 {
		arms = append(arms, c.inOrder(w, c.rest, c.tp.mark(w.first.rows)))
	}
	if w.column.Nullable && len(c.q.OrderBy) > 0 {
		arms = append(arms, c.missing(w))
	}
	if !c.told() {
		met := c.shared("slotsql_x"+formatUint(uint64(i)), c.meeting(w, nil, w.first.rows))
		arms = append(arms, "SELECT "+c.keyNames()+" FROM "+met+" AS slotsql_x")
	}
	return arms
}

// told reports whether each row of W meets the block's conditions by base value and by total alike. If not,
// fewer than n rows may meet them although W is full, and where they are is not known.
func (c *candidates) told() bool {
	return c.sorted() || c.q.Where == nil || len(c.rest)+len(c.join.conds) == len(conjuncts(c.q.Where, nil))
}

// write writes the rows of a window, in one or two parts, as FROM takes them; the last of their base
// values, NULL where there are no more such rows; and the bound of their totals.
func (c *candidates) write(w *window, i int) (rows []string, last, bound string) {
	n, conds := literal(windowRows), slices.Concat(c.rest, w.before)
	if w.first != nil {
		n = sum(w.first.rows, n)
		conds = slices.Concat(conds, c.near, w.first.last)
	}
	if w.edge != "" {
		conds = append(conds[:len(conds):len(conds)], w.edge)
	}
	if c.d.Traits().AnyType {
		conds = append(conds[:len(conds):len(conds)], c.base(w.column)+" < ''")
	}
	number := formatUint(uint64(i))
	rows = []string{c.shared("slotsql_w"+number, c.firstOf(c.from, w, conds, n))}
	last = c.value("slotsql_m"+number, c.lastOf(w, rows[0], n))
	if w.first == nil {
		return rows, last, w.bound
	}
	if c.join.clause != "" && !c.sorted() { // a row of the join that is in neither is behind the last of both
		n = sum(w.first.rows, literal(joinedRows))
		rows = append(rows, c.shared("slotsql_j"+number, c.firstOf(c.fromBlock, w, slices.Concat(conds, c.join.conds), n)))
		last = w.behind() + "(" + last + ", " + c.value("slotsql_i"+number, c.lastOf(w, rows[1], n)) + ")"
	}
	if w.first.values {
		return rows, last, c.lastValue(w, number)
	}
	var among []string
	if c.join.clause != "" && c.told() {
		among = []string{c.among(" IN ", c.keyNames(), rows[len(rows)-1]+" AS slotsql_w")}
	}
	first := c.shared("slotsql_x"+number, c.meeting(w, among, w.first.rows))
	return rows, last, c.value("slotsql_l"+number, c.lastOf(w, first, w.first.rows))
}

// firstOf writes the first n rows by base value, with these values.
func (c *candidates) firstOf(from func(list string, conds []string) string, w *window, conds []string, n fragment) string {
	base := c.base(w.column)
	return from(c.keyList()+", "+base+" AS slotsql_v", conds) + " ORDER BY " + base + w.direction() + " LIMIT " + c.tp.mark(n)
}

// lastOf writes the last value of n rows, NULL if there are fewer.
func (c *candidates) lastOf(w *window, rows string, n fragment) string {
	last := "MAX"
	if w.down {
		last = "MIN"
	}
	return "SELECT CASE WHEN COUNT(*) = " + c.tp.mark(n) + " THEN " + last + "(slotsql_v) END AS slotsql_v FROM " + rows + " AS slotsql_w"
}

// behind is the function of two values that returns the later one in the window's order.
func (w *window) behind() string {
	if w.down {
		return "LEAST"
	}
	return "GREATEST"
}

func (w *window) direction() string {
	if w.down {
		return " DESC"
	}
	return ""
}

// meeting writes the first n rows, by base value, that meet the block's conditions by
// base value and by total, with their totals.
func (c *candidates) meeting(w *window, among []string, n fragment) string {
	conds := slices.Concat(among, c.near, w.first.last)
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byTotal(q.Span)+")")
	}
	if w.edge != "" {
		conds = append(conds, w.edge)
	}
	total := c.total(c.b.table, c.qualifier(c.b), w.column.Name, false)
	return c.fromBlock(c.keyList()+", "+total+" AS slotsql_v", conds) + " ORDER BY " + c.base(w.column) + w.direction() +
		" LIMIT " + c.tp.mark(n)
}

// cold writes the first rows without slots, in the block's order, if there may be
// any outside of W.
func (c *candidates) cold(w *window, last, bound string) string {
	conds, rows := c.coldRows(w, last, bound)
	return c.inOrder(w, conds, rows)
}

// coldRows writes the conditions of rows without slots, and how many are wanted, if there may be any outside of W.
func (c *candidates) coldRows(w *window, last, bound string) (conds []string, rows string) {
	rows = c.tp.mark(w.first.rows)
	some := c.reaches(w, bound, turned[w.op], last, last)
	if c.d.Traits().LimitIf {
		rows = "CASE WHEN " + some + " THEN " + rows + " ELSE 0 END"
	} else {
		conds = []string{some}
	}
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byBase(q.Span)+")")
	}
	if w.edge != "" {
		conds = append(conds, w.edge)
	}
	return append(slices.Concat(conds, w.first.last), c.slotless()), rows
}

// missing writes the first rows whose counter is NULL.
func (c *candidates) missing(w *window) string {
	conds := append([]string{c.base(w.column) + " IS NULL"}, w.first.last...)
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.byTotal(q.Span)+")")
	}
	return c.inOrder(w, conds, c.tp.mark(w.first.rows))
}

// inOrder writes the first rows that meet conditions, in the block's order.
func (c *candidates) inOrder(w *window, conds []string, rows string) string {
	first := c.fromBlock(c.keyList(), conds) + " ORDER BY " + w.first.order + " LIMIT " + rows
	return "SELECT " + c.keyNames() + " FROM (" + first + ") AS slotsql_n"
}

// slotless writes that a row has no slots.
func (c *candidates) slotless() string {
	slots := c.slots(c.b.table.Counter.Counters)
	if c.sorted() { // all keys are read once, for what may be all rows of the join
		return c.among(" NOT IN ", strings.Join(c.slotKeys(c.b.table), ", "), slots)
	}
	// A scalar subquery is evaluated row by row in the index's order, and
	// stops with the limit; an anti-join would read the whole table. PostgreSQL expects half of the rows to
	// meet IS NOT TRUE, and one of 200 to meet IS NULL, for which it would rather sort them.
	return "(SELECT TRUE FROM " + slots + " WHERE " + c.sameKey() + " LIMIT 1) IS NOT TRUE"
}

// far writes the rows whose sums carry them over a bound.
func (c *candidates) far(some, conds []string) string {
	if len(c.summed) > 0 {
		return queryOf(c.keyNames(), sumsName, []string{"(" + strings.Join(some, " OR ") + ")", "(" + strings.Join(conds, " OR ") + ")"})
	}
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

// sumOf writes the sum of a counter's slots in the query of far.
func (c *candidates) sumOf(column string) string {
	if len(c.summed) > 0 {
		return sumsName + "." + joinedSum(slices.Index(c.summed, column))
	}
	return "SUM(slotsql_g." + c.d.Quote(column) + ")"
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

// fromBlock writes a query of all that the block reads.
func (c *candidates) fromBlock(list string, conds []string) string {
	if c.join.clause == "" {
		return c.from(list, conds)
	}
	return queryOf(list, c.join.clause, conds)
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

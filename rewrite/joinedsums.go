package rewrite

import (
	"slices"
	"strings"
)

// Joined sums.
//
// A bound may have many candidates, and a total that looks for slots does so for each of them, once in the
// condition and once more in the result. But the candidates themselves are found by the sums of all slots.
// So where the engine can, these sums are computed first, and joined to the rows:
//
//	WITH slotsql_h AS MATERIALIZED (<sums of slots by key>)
//	SELECT id, <total> FROM (posts LEFT JOIN slotsql_h ON slotsql_h.slotsql_k0 = posts.id)
//	WHERE <total> > 100 AND (views > 100 OR id = ANY (<candidates>))
//
// with <total> made of views and slotsql_h's sum. A key has one sum, so the join adds no row and removes none, and
// everything is read in the one statement. Nothing else about the block changes, except what shows that there is a join: a
// cursor over one cannot be updated, the columns that every table has need a qualifier in one, and where the key is grouped by,
// other columns of the table may be named, but not the sum. The first two have no joined sums, and groups only in WHERE.
//
// Where PostgreSQL expects one row, it reads all sums for it, and does so again for each row that there is against its
// expectation. So the block has no other condition and no LIMIT, and is the statement's own, or the only source of that: of the
// bound and the list of keys together PostgreSQL expects ten rows at least, for which it makes a hash table of the sums.

// A JoiningDialect is a Dialect of an engine that joins slots to rows in less time than it takes to look them up, for some
// reads.
type JoiningDialect interface {
	// JoinedTotal writes the total of a counter in the column's own type, of its base value and
	// the sum of its slots, which is NULL for a row without slots.
	JoinedTotal(t *Table, column, base, sum string) string
}

// sumsName is the name of the sums, in WITH and in the block.
const sumsName = "slotsql_h"

// joinSums joins the sums to the source, and writes the block's totals by them.
func (c *candidates) joinSums() {
	d, ok := c.d.(JoiningDialect)
	if !ok || c.d.Traits().LooksUpSums || !c.lone || c.listed() || c.ofFirst() || c.besides ||
		c.b.source.Ref.End == 0 || c.q.Table || !c.readWhole() || c.systemNamed() {
		return
	}
	totals, counters := c.joinedTotals(d)
	if !c.mainWith(sumsName + " AS MATERIALIZED (" + c.sums(counters) + ")") {
		return
	}
	within := c.q.Span
	if len(c.q.GroupBy) > 0 {
		within = c.q.Where.Span
	}
	c.rewriteTotals(within, totals)
	c.summed = counters
	ref := c.b.source.Ref
	c.edits = append(c.edits, edit{Span{ref.Start, ref.Start}, "("},
		edit{Span{ref.End, ref.End}, " LEFT JOIN " + sumsName + " ON " + c.sameAsSums() + ")"})
}

// joinedTotals returns the totals that the block's edits have, each with the one of joined sums that replaces it, and the
// counters whose sums these are.
func (c *candidates) joinedTotals(d JoiningDialect) (totals map[string]string, counters []string) {
	q := c.qualifier(c.b)
	totals = map[string]string{}
	for _, column := range c.b.table.Counter.Counters {
		many, few := c.total(c.b.table, q, column, true), c.total(c.b.table, q, column, false)
		if slices.ContainsFunc(c.edits, func(e edit) bool { return strings.Contains(e.sql, many) || strings.Contains(e.sql, few) }) {
			totals[many] = d.JoinedTotal(c.b.table, column, q+"."+c.d.Quote(column), sumsName+"."+joinedSum(len(counters)))
			totals[few] = totals[many]
			counters = append(counters, column)
		}
	}
	return totals, counters
}

// sameAsSums is the condition that sums are those of the source's row.
func (c *candidates) sameAsSums() string {
	var on []string
	for i, k := range c.keys {
		on = append(on, sumsName+"."+keyName(i)+" = "+k)
	}
	return strings.Join(on, " AND ")
}

// readWhole reports whether the block is the statement's query, or the only source of that, and all its rows are read.
func (c *candidates) readWhole() bool {
	m := c.main
	switch {
	case m == nil || len(m.Limit)+len(c.q.Limit) > 0 || c.src.is(0, "DECLARE"):
		return false
	case c.q == m:
		return true
	case len(m.From) != 1 || m.Where != nil && len(c.pushedDown[c.q]) != len(conjuncts(m.Where, nil)):
		return false
	}
	f := m.From[0]
	return f.Select == c.q || len(f.Name) == 1 && c.namedOnce(f.Name[0]) && slices.ContainsFunc(m.With, func(w *CTE) bool {
		return w.Select == c.q && c.sameLabel(f.Name[0], w.Name)
	})
}

// systemNamed reports whether the statement may name a column that every table has: without a qualifier a join has none.
func (c *candidates) systemNamed() bool {
	return c.src.hasName(func(name string) bool {
		return slices.ContainsFunc(c.d.Traits().SystemColumns, func(s string) bool { return equalFold(s, name) })
	})
}

// rewriteTotals replaces totals of the source, where expressions of its own block or of one inside have them.
func (c *candidates) rewriteTotals(within Span, totals map[string]string) {
	for i := range c.edits {
		e := &c.edits[i]
		if c.replaced[e.Span] != c.sc || e.Start < within.Start || e.End > within.End {
			continue
		}
		for was, is := range totals {
			e.sql = strings.ReplaceAll(e.sql, was, is)
		}
	}
}

// joinedSum is the name of the sum of a counter.
func joinedSum(i int) string { return "slotsql_s" + formatUint(uint64(i)) }

// sums writes a query of the sums of counters by key.
func (c *candidates) sums(counters []string) string {
	group := c.slotKeys(c.b.table)
	list := asKeys(group)
	for i, column := range counters {
		list = append(list, "SUM(slotsql_g."+c.d.Quote(column)+") AS "+joinedSum(i))
	}
	return queryOf(strings.Join(list, ", "), c.slots(counters), nil) + " GROUP BY " + strings.Join(group, ", ")
}

// mainWith adds a query to the WITH clause of the statement's query, if it has one or can have one.
func (c *candidates) mainWith(sql string) bool {
	at, ok := c.mainAt()
	if !ok {
		return false
	}
	if len(c.main.With) > 0 {
		c.edits = append(c.edits, edit{Span{at, at}, " " + sql + ","})
		return true
	}
	for i := range c.edits {
		if e := &c.edits[i]; e.Span == (Span{at, at}) && strings.HasPrefix(e.sql, "WITH ") {
			e.sql = strings.TrimSuffix(e.sql, " ") + ", " + sql + " "
			return true
		}
	}
	c.edits = append(c.edits, edit{Span{at, at}, "WITH " + sql + " "})
	return true
}

// mainAt returns the place of that query.
func (c *candidates) mainAt() (int, bool) {
	if c.main == nil {
		return 0, false
	}
	at := c.main.Start
	i := c.src.tokenAt(at)
	if len(c.main.With) == 0 {
		return at, c.src.is(i, "SELECT") || c.src.is(i, "(")
	}
	if !c.src.is(i, "WITH") {
		return 0, false
	}
	if c.src.is(i+1, "RECURSIVE") {
		i++
	}
	return c.src.tokens[i].End, true
}

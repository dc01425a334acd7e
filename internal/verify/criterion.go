package verify

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The statements of an audit. They are written as an application would write them,
// with totals where they say counters: the planner makes them exact, whatever
// the table's layout.

// audit is one table, and how values of its key travel.
type audit struct {
	d           rewrite.Dialect
	t           *schema.Table
	read, bound []string
	value       func(column string) string
}

// auditOf returns nil for a table whose keys cannot be arguments.
func auditOf(d dialect.Dialect, t *schema.Table) *audit {
	a := &audit{d: d, t: t, value: func(column string) string { return d.ValueForm(t, column) }}
	for _, k := range t.Counter.Key {
		read, bound := d.KeyForm(t, k)
		if bound == "" {
			return nil
		}
		a.read, a.bound = append(a.read, read), append(a.bound, bound)
	}
	return a
}

func (a *audit) ref(schema, name string) string {
	if schema == "" {
		return a.d.Quote(name)
	}
	return a.d.Quote(schema) + "." + a.d.Quote(name)
}

func (a *audit) base() string { return a.ref(a.t.Schema, a.t.Name) }

// keys are the columns of the key as they are read, each with a comma behind.
func (a *audit) keys(alias string) string {
	var b strings.Builder
	for i, k := range a.t.Counter.Key {
		b.WriteString(fmt.Sprintf(a.read[i], alias+"."+a.d.Quote(k)) + ", ")
	}
	return b.String()
}

// same reports whether two aliases have the same key.
func (a *audit) same(x, y string) string {
	var out []string
	for _, k := range a.t.Counter.Key {
		out = append(out, x+"."+a.d.Quote(k)+" = "+y+"."+a.d.Quote(k))
	}
	if len(out) == 0 {
		return "1 = 1"
	}
	return strings.Join(out, " AND ")
}

// among reports whether a row has one of n keys, whose values are arguments.
func (a *audit) among(alias string, n int) string {
	if len(a.t.Counter.Key) == 0 {
		return "1 = 1"
	}
	var any []string
	arg := 0
	for range n {
		var all []string
		for i, k := range a.t.Counter.Key {
			arg++
			all = append(all, alias+"."+a.d.Quote(k)+" = "+fmt.Sprintf(a.bound[i], a.d.Placeholder(arg)))
		}
		any = append(any, "("+strings.Join(all, " AND ")+")")
	}
	return "(" + strings.Join(any, " OR ") + ")"
}

// criterion is a query for rows that are wrong: their key, the total, and what it
// should be.
type criterion struct {
	*audit
	kind, counter string
	from, should  string
	where         string
	recounts      bool // there is a right value
}

// Aliases in queries that the planner reads, so none of the names that it keeps for the SQL it writes.
const (
	auditAlias   = "slotsql_audited"
	recountAlias = "slotsql_recount"
)

func (c *criterion) total() string { return auditAlias + "." + c.d.Quote(c.counter) }

// find is the query, for all rows or those of a condition.
func (c *criterion) find(condition string) string {
	if condition != "" {
		condition = " AND " + condition
	}
	return "SELECT " + c.keys(auditAlias) + c.total() + ", " + c.should + " FROM " + c.from + " WHERE (" + c.where + ")" + condition
}

func (a *audit) belowMin(counter string, least int64) *criterion {
	c := &criterion{audit: a, kind: FindingMin, counter: counter, from: a.base() + " AS " + auditAlias, should: fmt.Sprint(least)}
	c.where = c.total() + " < " + fmt.Sprint(least)
	return c
}

// drift joins the recount, which names its columns as the table does. The line
// break ends a comment that the recount may end with.
func (a *audit) drift(counter, recount string) *criterion {
	c := &criterion{audit: a, kind: FindingDrift, counter: counter, recounts: true}
	right := recountAlias + "." + a.d.Quote(counter)
	c.from = a.base() + " AS " + auditAlias + " LEFT JOIN (" + recount + "\n) AS " + recountAlias + " ON " +
		a.same(recountAlias, auditAlias)
	c.should = "COALESCE(" + right + ", 0)"
	c.where = "COALESCE(" + c.total() + ", 0) <> " + c.should
	return c
}

// set writes a row's right value into its base row, which has no slots: the
// value, then the key.
func (c *criterion) set() string {
	var where []string
	for i, k := range c.t.Counter.Key {
		where = append(where, c.d.Quote(k)+" = "+fmt.Sprintf(c.bound[i], c.d.Placeholder(i+2)))
	}
	sql := "UPDATE " + c.base() + " SET " + c.d.Quote(c.counter) + " = " + fmt.Sprintf(c.value(c.counter), c.d.Placeholder(1))
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql
}

// outOfRange finds the slot rows of base rows whose number no increment uses.
func (a *audit) outOfRange(condition string) string {
	table, slot := rewrite.SlotNumbers(a.d, a.t)
	slot = "slotsql_s." + slot
	out := slot + " < 0 OR " + slot + fmt.Sprintf(" >= %d", a.t.Counter.Slots)
	if a.t.Counter.AnyNumber() {
		out += " AND " + slot + fmt.Sprintf(" < %d", slots.LowestJournalNumber)
	}
	return "SELECT " + a.keys("slotsql_s") + slot +
		" FROM " + table + " AS slotsql_s WHERE (" + out + ") AND EXISTS (SELECT 1 FROM " + a.base() + " AS " + auditAlias +
		" WHERE " + a.same(auditAlias, "slotsql_s") + ")" + condition
}

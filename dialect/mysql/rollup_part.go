package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file says which slot rows a statement of the roll-up is about, and what it reads of them.

func (w *rollUp) use(arg int) string {
	w.Args = append(w.Args, arg)
	if arg >= 2*len(w.Table.Counter.Key) {
		return "?"
	}
	return keyForm(w.Table, w.Table.Counter.Key[arg%len(w.Table.Counter.Key)]).bound
}

// form is how a key column's value leaves the database and comes back.
type form struct{ read, bound string }

func keyForm(t *schema.Table, column string) form {
	c := t.Column(column)
	kind, _, _ := strings.Cut(strings.ToLower(c.Type), " ")
	kind, _, _ = strings.Cut(kind, "(")
	switch kind {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		if c.Unsigned || strings.Contains(strings.ToLower(c.Type), "unsigned") {
			// Text that is to be a number MySQL 8 takes for a signed one, and 2^63 - 1 for any above.
			return form{"%s", "CAST(CAST(? AS CHAR) AS UNSIGNED)"}
		}
		return form{"%s", "CAST(? AS SIGNED)"}
	case "decimal", "numeric":
		return form{"CAST(%s AS CHAR)", "CAST(? AS " + strings.Replace(strings.SplitN(c.Type, " ", 2)[0], "numeric", "decimal", 1) + ")"}
	case "binary", "varbinary":
		return form{"HEX(%s)", "UNHEX(?)"}
	case "char", "varchar":
		return form{"%s", "?"}
	case "date":
		return form{"CAST(%s AS CHAR)", "CAST(? AS DATE)"}
	case "datetime":
		return form{"CAST(%s AS CHAR)", "CAST(? AS DATETIME(6))"}
	}
	return form{}
}

func (w *rollUp) ordered() bool {
	for _, k := range w.Table.Counter.Key {
		if keyForm(w.Table, k).bound == "" {
			return false
		}
	}
	return len(w.Table.Counter.Key) > 0
}

// within is the part, as a condition on the slot rows of an alias. The server
// uses an index for comparisons of columns, not of rows.
func (w *rollUp) within(alias string) string {
	out := "TRUE"
	if of := w.Table.Counter.OfTable(quote, alias+"."); of != "" {
		out = of
	}
	if !w.ordered() {
		return out
	}
	key := w.Table.Counter.SlotKey()
	compare := func(first int, op string) {
		if len(key) > 1 {
			out += " AND " + alias + "." + quote(key[0]) + " " + op + "= " + w.use(first)
		}
		var steps []string
		for i, k := range key {
			var s []string
			for j := range i {
				s = append(s, alias+"."+quote(key[j])+" = "+w.use(first+j))
			}
			step := op
			if i == len(key)-1 && w.Part.Between {
				step += "="
			}
			steps = append(steps, strings.Join(append(s, alias+"."+quote(k)+" "+step+" "+w.use(first+i)), " AND "))
		}
		out += " AND (" + strings.Join(steps, " OR ") + ")"
	}
	if w.Part.After || w.Part.Between {
		compare(0, ">")
	}
	if w.Part.Between {
		compare(len(key), "<")
	}
	return out
}

// full is the condition that a slot row holds something.
func (w *rollUp) full(alias string) string {
	return "(" + strings.Join(w.Table.Counter.Filled(quote, alias+".", nil), " OR ") + ")"
}

func (w *rollUp) empty(alias string) string { return "NOT " + w.full(alias) }

// base is the base table, read by the key of the slots.
func (w *rollUp) base() string {
	out := baseTable(w.Table) + " AS slotsql_b"
	if u := keyIndex(w.Table); u != nil && len(w.Table.Counter.Key) > 0 {
		out += " FORCE INDEX (" + indexName(u) + ")"
	}
	return out
}

// baseOf is the base row of a slot row, behind the word that leads to a condition.
func (w *rollUp) baseOf(alias, word string) string {
	if len(w.Table.Counter.Key) == 0 {
		return w.base()
	}
	return w.base() + " " + word + " " + same("slotsql_b", w.Table.Counter.Key, alias, w.Table.Counter.SlotKey())
}

// find returns the keys of slot rows of a condition.
func (w *rollUp) find(condition string) dialect.Step {
	return w.Step(func() string {
		var read, by []string
		if w.ordered() {
			for i, k := range w.Table.Counter.SlotKey() {
				c := "slotsql_s." + quote(k)
				read, by = append(read, fmt.Sprintf(keyForm(w.Table, w.Table.Counter.Key[i]).read, c)), append(by, c)
			}
		}
		return w.Keys("FROM "+slotTable(w.Table)+" AS slotsql_s WHERE "+w.within("slotsql_s")+" AND "+condition, read, by)
	})
}

// values are what a slot row has, under names of their own.
func (w *rollUp) values() []string {
	t := w.Table
	list := w.names()
	for i, c := range t.Counter.Counters {
		list = append(list, fmt.Sprintf("%s AS c%d", t.Counter.Held(quote, "slotsql_s.", c), i+1))
	}
	for i, co := range t.Counter.Companions {
		list = append(list, fmt.Sprintf("slotsql_s.%s AS m%d", quote(co.Column), i+1))
		if co.Stamp() != "" {
			list = append(list, fmt.Sprintf("slotsql_s.%s AS a%d", quote(co.Stamp()), i+1))
		}
	}
	return list
}

// most bounds what a batch locks.
func (w *rollUp) most() string {
	if most := w.Most(w.divisible()); most != "" {
		return most
	}
	return all
}

// divisible reports whether a part of a row's slots may move.
func (w *rollUp) divisible() bool {
	return w.Table.Counter.Layout == schema.LayoutJournal && !w.Table.Counter.HasLatest()
}

// locked is the part's slot rows with their base rows.
func (w *rollUp) locked() string {
	return slotTable(w.Table) + " AS slotsql_s" + slotIndex(w.Table) + " STRAIGHT_JOIN " + w.baseOf("slotsql_s", "ON") + " WHERE " +
		w.within("slotsql_s")
}

// baseFirst is as locked, of slot rows that hold something, and locks each base row before its
// slot rows, as a drain does. On MariaDB a session that skips a locked row is in its queue for
// a moment, so two orders are a deadlock to a drain that begins to wait in that moment, although
// the batch would not have waited. (A journal has no bound, so its keys are not asked for first.)
func (w *rollUp) baseFirst() string {
	t := w.Table
	if t.Counter.Layout == schema.LayoutJournal {
		return w.locked() + " AND " + w.full("slotsql_s")
	}
	slots := slotTable(t) + " AS slotsql_s" + slotIndex(t)
	which := func() string { return " WHERE " + w.within("slotsql_s") + " AND " + w.full("slotsql_s") }
	key := t.Counter.SlotKey()
	if len(key) == 0 {
		return w.base() + " STRAIGHT_JOIN " + slots + which()
	}
	list := make([]string, len(key))
	for i, k := range key {
		list[i] = fmt.Sprintf("slotsql_s.%s AS k%d", quote(k), i+1)
	}
	return "(SELECT DISTINCT " + strings.Join(list, ", ") + " FROM " + slots + which() + all + ") AS slotsql_k STRAIGHT_JOIN " +
		w.base() + " ON " + sameAs("slotsql_b", t.Counter.Key, "slotsql_k") + " STRAIGHT_JOIN " + slots +
		" ON " + sameAs("slotsql_s", key, "slotsql_k") + which()
}

// newest writes the newest value of the n-th companion among the slots of a key.
func (w *rollUp) newest(n int) string {
	return fmt.Sprintf("FIRST_VALUE(slotsql_l.m%d) OVER (%s ORDER BY slotsql_l.a%[1]d DESC, slotsql_l.n DESC) AS x%[1]d", n, w.partition())
}

func (w *rollUp) partition() string {
	var by []string
	for i := range w.Table.Counter.Key {
		by = append(by, fmt.Sprintf("slotsql_l.k%d", i+1))
	}
	if len(by) == 0 {
		return ""
	}
	return "PARTITION BY " + strings.Join(by, ", ")
}

// names are the columns that tell one slot row of the table from the others.
func (w *rollUp) names() []string {
	list := []string{"slotsql_s." + slotColumn(w.Table) + " AS n"}
	if sh := w.Table.Counter.Shared; sh != nil {
		list = append(list, "slotsql_s."+quote(sh.Type)+" AS y")
	}
	for i, k := range w.Table.Counter.SlotKey() {
		list = append(list, fmt.Sprintf("slotsql_s.%s AS k%d", quote(k), i+1))
	}
	return list
}

// row is the condition that the slot row is the one of the derived table.
func (w *rollUp) row() string {
	on := "slotsql_s." + slotColumn(w.Table) + " = slotsql_f.n"
	if len(w.Table.Counter.Key) > 0 {
		on = sameAs("slotsql_s", w.Table.Counter.SlotKey(), "slotsql_f") + " AND " + on
	}
	if sh := w.Table.Counter.Shared; sh != nil {
		on = "slotsql_s." + quote(sh.Type) + " = slotsql_f.y AND " + on
	}
	return on
}

package mysql

import (
	"fmt"
	"strings"
)

// A roll-up adds what slot rows hold to base rows by one statement and empties them by
// another, and in between a query holds against each other what was to arrive and what
// has: a BEFORE UPDATE trigger may have stored another value, a type that has changed
// may have rounded or clipped it. So that all three are about the same slot rows,
// however many others have been unlocked meanwhile, Pick returns a list of those that
// it has locked, and one of what their base rows must have in the end. They are
// arrays of JSON; names are made of hexadecimal digits, numbers and colons.

// What Pick returns, as arguments.
func (w *rollUp) listArg() int     { return 2 * len(w.Table.Counter.Key) }
func (w *rollUp) expectedArg() int { return w.listArg() + 1 }

// name tells a slot row from the others of the table.
func (w *rollUp) name(alias string) string {
	return w.colons(alias, w.Table.Counter.SlotKey(), "CAST("+alias+"."+slotColumn(w.Table)+" AS CHAR)", w.typeName(alias))
}

// typeName is the record type of a shared slot table's row.
func (w *rollUp) typeName(alias string) string {
	if sh := w.Table.Counter.Shared; sh != nil {
		return "CAST(" + alias + "." + quote(sh.Type) + " AS CHAR)"
	}
	return ""
}

// colons joins the values of columns, in hexadecimal, and other strings.
func (w *rollUp) colons(alias string, columns []string, more ...string) string {
	var list []string
	for _, c := range columns {
		list = append(list, "HEX(CAST("+alias+"."+quote(c)+" AS CHAR))")
	}
	for _, m := range more {
		if m != "" {
			list = append(list, m)
		}
	}
	return "CONCAT_WS(':', " + strings.Join(list, ", ") + ")"
}

// number writes a counter's value such that equal ones are the same text.
func number(value string) string {
	return "COALESCE(CAST(CAST(" + value + " AS DECIMAL(65, 10)) AS CHAR), 'N')"
}

// pick locks slot rows that hold something, with their base rows, and returns their
// number, their names and what the base rows are to have.
func (w *rollUp) pick() string {
	t := w.Table
	list := append(w.values(), w.name("slotsql_s")+" AS i")
	var expected []string
	if len(t.Counter.Key) > 0 {
		list = append(list, w.colons("slotsql_b", t.Counter.Key)+" AS b")
		expected = append(expected, "slotsql_l.b")
	}
	for i, c := range t.Counter.Counters {
		list = append(list, fmt.Sprintf("slotsql_b.%s AS o%d", quote(c), i+1))
		expected = append(expected, number(fmt.Sprintf("slotsql_l.o%d + SUM(slotsql_l.c%d) OVER (%s)", i+1, i+1, w.partition())))
	}
	locked := "SELECT " + strings.Join(list, ", ") + " FROM " + w.baseFirst() + w.most() +
		" FOR UPDATE SKIP LOCKED"
	single, one := "", ""
	if len(t.Counter.Key) == 0 {
		// The one row of a table without key; where there are more, none is it.
		single, one = ", COUNT(*) OVER (PARTITION BY slotsql_l.n) AS d", " WHERE slotsql_x.d = 1"
	}
	return "SELECT COUNT(*), " + listOf("slotsql_x.i") + ", " + listOf(
		"DISTINCT slotsql_x.e",
	) + " FROM (SELECT slotsql_l.i, CONCAT_WS(':', " + strings.Join(expected, ", ") +
		") AS e" + single + " FROM (" + locked + ") AS slotsql_l" + all + ") AS slotsql_x" + one
}

// listed reports whether a slot row is one that Pick has locked.
func (w *rollUp) listed() string {
	return w.among(w.name("slotsql_s"), w.listArg())
}

// among reports whether a list has a name. Lists are long where many have counted since the
// last pass, so the server makes a table of it once, with a key on a hash.
func (w *rollUp) among(name string, list int) string {
	return "(SELECT 1 FROM (SELECT CRC32(slotsql_c.i) AS h, slotsql_c.i FROM JSON_TABLE(CONVERT(" + w.use(list) +
		" USING utf8mb4), '$[*]' COLUMNS (i TEXT PATH '$')) AS slotsql_c" + all + ") AS slotsql_i WHERE slotsql_i.h = CRC32(" + name +
		") AND CAST(slotsql_i.i AS BINARY) = CAST(" + name + " AS BINARY) LIMIT 1) IS NOT NULL"
}

// Of a journal each statement of a batch ends with the last row of the batch: it does
// not look at all the rows that a key has.

// listOf aggregates names into a list.
func listOf(names string) string {
	return "CONCAT('[\"', GROUP_CONCAT(" + names + " SEPARATOR '\",\"'), '\"]')"
}

// unmoved finds base rows that have not what they were to have, while their slot rows
// are as Pick has locked them.
func (w *rollUp) unmoved() string {
	var now []string
	if len(w.Table.Counter.Key) > 0 {
		now = append(now, w.colons("slotsql_b", w.Table.Counter.Key))
	}
	for _, c := range w.Table.Counter.Counters {
		now = append(now, number("slotsql_b."+quote(c)))
	}
	return "SELECT 'a trigger stores another value in the counter, or its type cannot hold the total: " +
		"drop the trigger, or widen the column' FROM (SELECT CONCAT_WS(':', " + strings.Join(now, ", ") + ") AS e FROM " + w.locked() +
		" AND " + w.listed() + w.most() + ") AS slotsql_u WHERE NOT " + w.among("slotsql_u.e", w.expectedArg()) + " LIMIT 1"
}

// emptied empties the slot rows that Pick has locked; without latest it leaves
// companions of that kind as they are.
func (w *rollUp) emptied(latest bool) string {
	t := w.Table
	slots := slotTable(t) + " AS slotsql_s" + slotIndex(t)
	return "UPDATE (SELECT " + strings.Join(w.names(), ", ") + " FROM " + slots + " WHERE " + w.within("slotsql_s") +
		" AND " + w.listed() + w.most() + " FOR UPDATE SKIP LOCKED) AS slotsql_f STRAIGHT_JOIN " + slots + " ON " + w.row() +
		" SET " + strings.Join(t.Counter.Emptied(quote, "slotsql_s.", latest), ", ")
}

package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Total writes the exact total of one row. A sum is a DECIMAL, so it is cast
// back: an unsigned column must stay unsigned in the application's own
// arithmetic and comparisons. A cast value compares as the plain column does.
//
// Starting a sum costs a row without slots most of what it costs one with. So a total that
// is comparable asks first whether the row is among those with slots. Of a million rows, 1,000
// of them with slots, MariaDB then compares the totals in 0.6 s and not in 2.5: it reads all keys
// of the slot table once. Of few rows it looks each up, as the sum does.
func (d *Dialect) Total(t *schema.Table, qualifier, column string, comparable bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	s := alias("slotsql_s", qualifier)
	slots := slotTable(t) + " AS " + s
	of := t.Counter.OfCounters(quote, s+".", column)
	where := ""
	if len(t.Counter.Key) > 0 {
		// Of a table that seems small the optimizer would read all rows, once for each base row, and so
		// all those that a roll-up has deleted since the snapshot of a long query.
		slots += slotIndex(t)
		where = " WHERE " + and(of, same(s, t.Counter.SlotKey(), qualifier, t.Counter.Key))
	}
	base := qualifier + "." + quote(column)
	total := base + " + (SELECT SUM(" + s + "." + quote(t.Counter.Cell(column)) + ") FROM " + slots + where + ")"
	if comparable && where != "" {
		if of != "" {
			of = " WHERE " + of
		}
		keys := "SELECT " + strings.Join(qualify(s, t.Counter.SlotKey()), ", ") + " FROM " + slots + of
		total = "CASE WHEN " + schema.Tuple(qualify(qualifier, t.Counter.Key)) + " IN (" + keys + ") THEN " + total + " END"
	}
	return inType(t, column, "COALESCE("+total+", "+base+")")
}

func inType(t *schema.Table, column, expr string) string {
	col := t.Column(column)
	if col == nil || col.Numeric == schema.Decimal && col.Precision == 0 {
		return expr
	}
	return "CAST(" + expr + " AS " + totalType(col) + ")"
}

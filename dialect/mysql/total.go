package mysql

import "github.com/slotsql/slotsql/rewrite"

// Total writes the exact total of one row. A sum is a DECIMAL, so it is cast
// back: an unsigned column must stay unsigned in the application's own
// arithmetic and comparisons. A cast value compares as the plain column does,
// so comparable changes nothing.
func (d *Dialect) Total(t *rewrite.Table, qualifier, column string, comparable bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	s := alias("slotsql_s", qualifier)
	sum := "SELECT SUM(" + s + "." + quote(t.Counter.Cell(column)) + ") FROM " + slotTable(t) + " AS " + s
	if len(t.Counter.Key) > 0 {
		// Of a table that seems small the optimizer would read all rows, once for each base row, and so
		// all those that a roll-up has deleted since the snapshot of a long query.
		sum += slotIndex(t) + " WHERE " + and(t.Counter.OfCounters(quote, s+".", column), same(s, t.Counter.SlotKey(), qualifier, t.Counter.Key))
	}
	base := qualifier + "." + quote(column)
	return inType(t, column, "COALESCE("+base+" + ("+sum+"), "+base+")")
}

func inType(t *rewrite.Table, column, expr string) string {
	col := t.Column(column)
	if col == nil || col.Numeric == rewrite.Decimal && col.Precision == 0 {
		return expr
	}
	return "CAST(" + expr + " AS " + totalType(col) + ")"
}

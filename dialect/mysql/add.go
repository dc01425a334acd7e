package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Add writes the update of one slot row. A drain moves the slot rows of the keys it covers out of the way and
// deletes them. It waits for one that this update has locked, and this update does not find one that it has moved.
// So nothing slips past a drain, though no lock is taken on the base row. The slot table's CHECK constraints keep
// the slot in its range.
//
// The base values cannot be looked at here: an UPDATE that reads the base row
// locks it, even where that is what is wanted: Increment does so, and takes no gap lock.
func (d *Dialect) Add(t *schema.Table, in rewrite.AddSQL) string {
	if in.CheckBase || in.Locks || t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	var set []string
	where := t.Counter.SlotRow(quote, in.Deltas[0].Column, in.Key, in.Slot)
	for _, dl := range in.Deltas {
		c, delta := quote(t.Counter.Cell(dl.Column)), dl.SQL
		if col := t.Column(dl.Column); col != nil && col.Numeric == schema.Decimal {
			// A delta bound as text would make the sum a DOUBLE.
			delta = fmt.Sprintf("CAST(%s AS DECIMAL(65, %d))", delta, col.Scale)
		}
		set = append(set, c+" = "+c+" + "+delta)
		if t.Counter.Layout == schema.LayoutShared { // which has no CHECK constraints for the counter
			where = append(where, sharedRange(t, dl.Column, c+" + "+delta))
		}
	}
	for _, co := range in.Companions {
		set = append(set, quote(co.Column)+" = "+co.SQL, quote(co.Stamp())+" = "+later(quote(co.Stamp()), stampNow))
		if co.NotNull {
			where = append(where, "("+co.SQL+") IS NOT NULL")
		}
	}
	return "UPDATE " + slotTable(t) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(where, " AND ")
}

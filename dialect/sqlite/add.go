package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Add writes the update of one slot row. SQLite has one writer, so that a drain
// has come and gone, slot row and all, or has not begun; there are no row locks.
func (*Dialect) Add(t *schema.Table, in rewrite.AddSQL) string {
	if in.Locks || t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	var set []string
	where := t.Counter.SlotRow(quote, in.Deltas[0].Column, in.Key, in.Slot)
	for _, dl := range in.Deltas {
		c := quote(t.Counter.Cell(dl.Column))
		set = append(set, c+" = "+c+" + "+dl.SQL)
		where = append(where, fmt.Sprintf("%s + %s BETWEEN %d AND %d", c, dl.SQL, -slotLimit, slotLimit))
	}
	for _, co := range in.Companions {
		var on []string
		for i, k := range t.Counter.Key {
			on = append(on, "slotsql_v."+quote(k)+" = "+in.Key[i])
		}
		same := "" // a table of one row has no key to compare
		if len(on) > 0 {
			same = " WHERE " + strings.Join(on, " AND ")
		}
		stamp := quote(co.Stamp())
		set = append(set, quote(co.Column)+" = "+co.SQL, stamp+" = (SELECT COALESCE(MAX(slotsql_v."+stamp+"), 0) + 1 FROM "+slotTable(t)+
			" AS slotsql_v"+same+")")
		if co.NotNull {
			where = append(where, "("+co.SQL+") IS NOT NULL")
		}
	}
	if in.CheckBase {
		var on []string
		for i, k := range t.Counter.Key {
			on = append(on, baseAlias+"."+quote(k)+" = "+in.Key[i])
		}
		for _, dl := range in.Deltas {
			on = append(on, baseGuards(baseAlias, dl.Column)...)
		}
		where = append(where, "EXISTS (SELECT 1 FROM "+baseTable(t)+" AS "+baseAlias+" WHERE "+strings.Join(on, " AND ")+")")
	}
	return "UPDATE " + slotTable(t) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(where, " AND ")
}

// baseGuards are the conditions that a base value may have slots.
func baseGuards(qualifier, column string) []string {
	base := qualifier + "." + quote(column)
	return []string{"typeof(" + base + ") = 'integer'", fmt.Sprintf("%s BETWEEN %d AND %d", base, -baseLimit, baseLimit)}
}

package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes what is special about a slot table that several counter
// tables share: it has a row for each counter.

func createShared(t *schema.Table) string {
	sh := t.Counter.Shared
	id := t.Column(t.Counter.Key[0]).Type
	return fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %s (%s INTEGER NOT NULL, %s %s NOT NULL, %s INTEGER NOT NULL, %s INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (%[2]s, %[3]s, %[5]s)) WITHOUT ROWID",
		slotTable(t),
		quote(sh.Type),
		quote(sh.ID),
		id,
		quote(t.Counter.SlotTable.Column),
		quote(sh.Count),
	)
}

// incrementShared is Increment for a shared table. There is one writer, so that
// the slot rows can be looked at before they are written: all of them have room,
// or none is written.
func incrementShared(t *schema.Table, in rewrite.IncrementSQL) string {
	c, q, sh := t.Counter, in.Qualifier, t.Counter.Shared
	key, count := q+"."+quote(c.Key[0]), quote(sh.Count)
	into := columns("", sh.Type, sh.ID, c.SlotTable.Column)
	where := []string{"(" + in.Where + ")"}
	if col := t.Column(c.Key[0]); col == nil || col.Nullable {
		where = append(where, key+" IS NOT NULL")
	}
	var rows []string
	for _, d := range in.Deltas {
		delta := "(" + d.SQL + ")"
		rows = append(rows, fmt.Sprintf("SELECT %d AS slotsql_y, %s AS slotsql_d", sh.Records[d.Column], delta))
		where = append(where, baseGuards(q, d.Column)...)
		held := fmt.Sprintf(
			"COALESCE((SELECT slotsql_l.%s FROM %s AS slotsql_l WHERE %s AND slotsql_l.%s = %s AND slotsql_l.%s = %s), 0)",
			count,
			slotTable(t),
			c.OfCounters(quote, "slotsql_l.", d.Column),
			quote(sh.ID),
			key,
			quote(c.SlotTable.Column),
			in.Slot,
		)
		where = append(where, "typeof"+delta+" = 'integer'",
			fmt.Sprintf("%s BETWEEN %d AND %d", delta, -slotLimit, slotLimit),
			fmt.Sprintf("%s + %s BETWEEN %d AND %d", held, delta, -slotLimit, slotLimit))
	}
	return "INSERT INTO " + slotTable(t) + " AS " + slotAlias + " (" + list(append(into, count)) +
		") SELECT slotsql_y.slotsql_y, " + key + ", " + in.Slot + ", slotsql_y.slotsql_d FROM " + in.Ref + " CROSS JOIN (" +
		strings.Join(rows, " UNION ALL ") + ") AS slotsql_y WHERE " + strings.Join(where, " AND ") + " ON CONFLICT (" + list(into) +
		") DO UPDATE SET " + count + " = " + slotAlias + "." + count + " + excluded." + count
}

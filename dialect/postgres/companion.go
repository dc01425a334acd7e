package postgres

import (
	"fmt"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// stampNow is when a companion was set. The time of the statement, not of the
// transaction: of two statements of which one ends before the other begins the
// second has the later stamp, whatever their transactions.
const stampNow = "pg_catalog.clock_timestamp()"

// later is the stamp of a statement that sets a slot's companion. Statements
// that share a slot may have waited for each other: the one that comes to the
// slot last may have begun first, and must not make the slot's stamp older, or
// a value that another slot holds from before would be the latest.
func later(stamp, now string) string { return "GREATEST(" + stamp + ", " + now + ")" }

// extreme is the function that merges two values; it leaves NULLs out.
func extreme(m schema.Merge) string {
	if m == schema.Min {
		return "LEAST"
	}
	return "GREATEST"
}

// merged writes the merged value of a companion. The types of its parts are the
// column's, modifiers and collation too, and so is the whole's.
func merged(t *schema.Table, co *schema.Companion, qualifier string) string {
	c, base := quote(co.Column), qualifier+"."+quote(co.Column)
	col := t.Column(co.Column)
	and, where := "", ""
	if on := keyEquals(t, slotAlias, qualifier); on != "" {
		and, where = " AND "+on, " WHERE "+on
	}
	if co.Merge != schema.Latest {
		return fmt.Sprintf("CAST(%s(%s, (SELECT %s(%s.%s) FROM %s %s%s)) AS %s)",
			extreme(co.Merge), base, co.Merge, slotAlias, c, slotTable(t), slotAlias, where, col.Type)
	}
	latest := fmt.Sprintf(
		"SELECT %s.%s AS slotsql_v, %s.%s AS slotsql_a, %s.%s AS slotsql_n FROM %s %s WHERE %s.%s IS NOT NULL%s",
		slotAlias,
		c,
		slotAlias,
		quote(co.Stamp()),
		slotAlias,
		quote(t.Counter.SlotTable.Column),
		slotTable(t),
		slotAlias,
		slotAlias,
		quote(co.Stamp()),
		and,
	)
	const order = " ORDER BY slotsql_a DESC NULLS LAST, slotsql_n DESC LIMIT 1"
	if col.Nullable {
		// A slot may hold a NULL, so the base row is one more candidate.
		return "(SELECT slotsql_v FROM (" + latest + " UNION ALL SELECT " + base + ", NULL, NULL) AS slotsql_u" + order + ")"
	}
	return "COALESCE((SELECT slotsql_v FROM (" + latest + ") AS slotsql_u" + order + "), " + base + ")"
}

package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.SleepingDialect = (*Dialect)(nil)

// Asleep writes a lock that keeps slots from being written, and lets others take it as well, and a condition that fails
// if there are slots. It is for READ COMMITTED, where each statement has a snapshot that is newer than what ran before it.
//
// A statement with the condition that has not failed has seen base values that were totals when its snapshot was taken. Rows
// that it locks it takes as they are at that moment, which may be later: slots created in between, and folded in between, are in
// the row that it locks; those that are not folded are there when the condition is asked once more behind it, because a fold
// needs the row's lock, and none is created after that, because that needs it as well.
//
// A DELETE also removes its rows' slots, including any created while it waited for a row. Creating a slot only shares the row's
// lock and leaves the row unchanged, so the DELETE does not evaluate its WHERE again. A statement that deletes therefore also checks
// that this session has deleted no slots, using the server's statistics. These may still count deletions of the last second or so;
// the drain that follows is then unnecessary, but harmless.
func (d *Dialect) Asleep(tables []*schema.Table, deletes bool) (keep []string, failing string) {
	awake := []string{"NOT (" + newSnapshot + ")"}
	var names, queries []string
	for _, t := range tables {
		names = append(names, slotTable(t))
		awake = append(awake, hasAny(t))
		if deletes {
			deleted := "pg_catalog.pg_stat_get_xact_tuples_deleted(CAST(" + literal(slotTable(t)) + " AS pg_catalog.regclass))"
			awake = append(awake, deleted+" > 0")
		}
		queries = append(queries, d.Awake(t, true))
	}
	mode := " IN SHARE MODE"
	if deletes {
		awake = append(awake, "pg_catalog.current_setting('track_counts') <> 'on'")
		mode = " IN SHARE ROW EXCLUSIVE MODE" // two deletes that shared a lock would deadlock when their slots go
	}
	keep = append([]string{"LOCK TABLE " + strings.Join(names, ", ") + mode}, queries...)
	return keep, "CAST((SELECT CASE WHEN " + strings.Join(awake, " OR ") +
		" THEN 'slotsql: undone, and run in another way: the table has slots' ELSE 'true' END) AS boolean)"
}

// Awake implements rewrite.SleepingDialect.
func (*Dialect) Awake(t *schema.Table, _ bool) string {
	return "SELECT 1 WHERE NOT (" + newSnapshot + ") OR " + hasAny(t)
}

// hasAny writes whether a table has slots.
func hasAny(t *schema.Table) string {
	from := "SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias
	if of := t.Counter.OfTable(quote, slotAlias+"."); of != "" {
		from += " WHERE " + of
	}
	return "EXISTS (" + from + ")"
}

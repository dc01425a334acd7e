package sqlite

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.SleepingDialect = (*Dialect)(nil)

// Asleep writes a statement for each table that changes nothing. It takes the one write lock, as any DELETE does before it looks for
// rows, and fails ("integer overflow") if there are slots. Until the transaction ends no other session writes: the table stays
// without slots, and every base value is a total. No page becomes dirty, so a COMMIT behind it writes nothing.
func (d *Dialect) Asleep(tables []*schema.Table, _ bool) (keep []string, failing string) {
	for _, t := range tables {
		of := ""
		if shared := t.Counter.OfTable(quote, ""); shared != "" {
			of = shared + " AND "
		}
		keep = append(keep, "DELETE FROM "+slotTable(t)+" WHERE "+of+"CASE WHEN "+anySlots(t)+
			" THEN abs(-9223372036854775808) IS NULL ELSE FALSE END")
	}
	return keep, ""
}

// Awake implements rewrite.SleepingDialect.
func (*Dialect) Awake(t *schema.Table, _ bool) string { return "SELECT 1 WHERE " + anySlots(t) }

// anySlots writes the condition that a table has slots.
func anySlots(t *schema.Table) string {
	return "EXISTS (SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + ofTable(t, slotAlias) + ")"
}

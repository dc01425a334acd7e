package mysql

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.SleepingDialect = (*Dialect)(nil)

// Asleep writes locking reads that, above READ COMMITTED, lock the gap of a table without slots: until the transaction
// ends no session creates one. These locks do not conflict with each other, so statements of several transactions run side by side.
//
// At READ COMMITTED they lock no gap. There a statement of one table runs between two questions. Each row that it reads is the
// newest, and one that it changes or locks it holds against new slots until the second question. If neither question finds slots, a
// row had none when the statement came to it, or they were created and folded since the first question: then the statement has read
// its total as of that moment, or the fold has waited for its lock.
func (d *Dialect) Asleep(tables []*schema.Table, _ bool) (keep []string, failing string) {
	for _, t := range tables {
		keep = append(keep, d.Awake(t, true))
	}
	return keep, ""
}

// Awake implements rewrite.SleepingDialect. Who may not move slots may not lock them FOR UPDATE, either; who may does so, since
// it moves those that it finds.
func (d *Dialect) Awake(t *schema.Table, locks bool) string {
	lock := " FOR UPDATE"
	if !locks {
		lock = ""
	} else if len(t.Counter.Rights.Ungranted) > 0 {
		lock = " LOCK IN SHARE MODE"
	}
	from := "SELECT 1 FROM " + slotTable(t) + " AS slotsql_s"
	if of := t.Counter.OfTable(quote, "slotsql_s."); of != "" {
		from += slotIndex(t) + " WHERE " + of
	}
	return "SELECT EXISTS (" + from + lock + "), " + d.level() + ", " + here
}

package mysql

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ProvingDialect = (*Dialect)(nil)

// Proof writes a predicate that fails with error 1690 where the row has slots.
//
// Why that is exact: the subquery depends on the row, so it is run when the statement has
// read it, and by then the statement has the row's exclusive lock, as it has with the
// plain driver. Who makes a slot row holds the shared lock of the base row until its
// transaction ends. So none is under way, and none comes before this statement is
// committed. A locking read sees the newest rows, whatever the snapshot, and waits for
// those that are being changed. So it finds every slot row that there is.
//
// At READ COMMITTED a scan may look at a row before it waits for its lock, and once more
// when it has it. RAND has MariaDB run the subquery each time, and not remember what it
// has returned for the same key.
//
// In a transaction the locking read would keep the place where slot rows would be locked
// until the transaction ends, for other rows as well (InnoDB's gap locks): the form is
// for autocommit only.
func (d *Dialect) Proof(t *schema.Table, s rewrite.Scope) rewrite.ProofSQL {
	counters := [][]string{t.Counter.Counters}
	if t.Counter.Shared != nil { // of several record types at once it would lock all rows of a table that seems small
		counters = slices.Collect(slices.Chunk(t.Counter.Counters, 1))
	}
	holds := "18446744073709551615"
	for _, c := range counters {
		holds += " + (SELECT COUNT(*) FROM " + slotsOf(t, s.Qualifier, c) + " AND RAND() >= 0 LOCK IN SHARE MODE)"
	}
	return rewrite.ProofSQL{Holds: holds + " = 18446744073709551615"}
}

var _ rewrite.ObservingDialect = (*Dialect)(nil)

// HasSlots implements rewrite.ObservingDialect.
func (d *Dialect) HasSlots(t *schema.Table, qualifier string) string {
	return "EXISTS (SELECT 1 FROM " + slotsOf(t, qualifier, t.Counter.Counters) + ")"
}

// HeldSlots implements rewrite.ObservingDialect.
func (d *Dialect) HeldSlots(t *schema.Table, qualifier string) string {
	return "IF(" + d.HasSlots(t, qualifier) + ", NULL, " + here + ")"
}

// slotsOf writes what the slots of a row's counters are selected from, and by which condition.
func slotsOf(t *schema.Table, qualifier string, counters []string) string {
	row := alias("slotsql_s", qualifier)
	var on []string
	if of := t.Counter.OfCounters(quote, row+".", counters...); of != "" {
		on = append(on, of)
	}
	on = append(on, same(row, t.Counter.SlotKey(), qualifier, t.Counter.Key))
	return slotTable(t) + " AS " + row + slotIndex(t) + " WHERE " + strings.Join(on, " AND ")
}

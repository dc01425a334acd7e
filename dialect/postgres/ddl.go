package postgres

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Widener = (*Dialect)(nil)

var _ dialect.BriefLocker = (*Dialect)(nil)

// CreateSlots writes the DDL of a slot table. All statements must run in one
// transaction: IF NOT EXISTS does not keep two sessions from creating one
// table at the same time (the loser fails on a catalog's unique index), so the
// first statement takes an advisory lock until the transaction ends.
//
// The key columns have the base key's types and collations. A counter is
// bigint or numeric: see the bounds of Increment for why that is wide enough.
// Only indexed columns are never updated, so updates are HOT while the page
// has room: half of each page is left free. Slot tables are small and hot, and
// vacuum should come for dead rows, not for a share of the table.
func (d *Dialect) CreateSlots(t *schema.Table) []string {
	name := slotTable(t)
	var lines []string
	if t.Counter.Layout == schema.LayoutShared {
		return createShared(t)
	}
	for _, k := range t.Counter.Key {
		lines = append(lines, quote(k)+" "+t.Column(k).Type+" NOT NULL")
	}
	slot := quote(t.Counter.SlotTable.Column)
	lines = append(lines, slot+" "+numberType(t)+" NOT NULL")
	for _, c := range t.Counter.Counters {
		lines = append(lines, quote(c)+" "+slotType(t.Column(c))+" NOT NULL DEFAULT 0")
	}
	for _, co := range t.Counter.Companions {
		lines = append(lines, quote(co.Column)+" "+t.Column(co.Column).Type)
		if co.Stamp() != "" {
			lines = append(lines, quote(co.Stamp())+" timestamp with time zone")
		}
	}
	if len(t.Counter.Key) == 0 {
		lines = append(lines, "PRIMARY KEY ("+slot+")")
	} else {
		key := keyList(t, "")
		lines = append(lines, "PRIMARY KEY ("+key+", "+slot+")")
		if !t.Counter.SlotTable.NoForeignKey {
			lines = append(
				lines,
				fmt.Sprintf(
					"FOREIGN KEY (%s) REFERENCES %s (%s) ON DELETE CASCADE ON UPDATE CASCADE",
					key,
					qualified(t.Schema, t.Name),
					key,
				),
			)
		}
	}
	room := "fillfactor = 50, "
	if t.Counter.Layout == schema.LayoutJournal {
		room = "" // rows are not updated
	}
	unlogged := ""
	if t.Storage.Unlogged { // a crash empties both
		unlogged = "UNLOGGED "
	}
	h := fnv.New64a()
	h.Write([]byte("slotsql " + name))
	return []string{
		fmt.Sprintf("SELECT pg_catalog.pg_advisory_xact_lock(%d)", int64(h.Sum64())),
		fmt.Sprintf("CREATE %sTABLE IF NOT EXISTS %s (%s) WITH (%sautovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
			unlogged, name, strings.Join(lines, ", "), room),
	}
}

// Briefly sets lock_timeout for the transaction, such that two waits end before deadlock_timeout. A session that
// has read the base table may wait for the slot table, while this transaction has locked the slot table and waits
// for the base table: then this one gives up, before the server chooses the application's session as the victim.
func (*Dialect) Briefly(ddl []string, wait time.Duration) (brief, restore []string) {
	return append(
		[]string{
			fmt.Sprintf(
				"SELECT pg_catalog.set_config('lock_timeout', CAST(LEAST(%d, GREATEST(20, CAST(setting AS integer) / 3)) AS text), true) "+
					"FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'",
				wait.Milliseconds(),
			),
		},
		ddl...), nil
}

// AddSlots adds columns, which the server does without writing the table anew.
func (d *Dialect) AddSlots(t *schema.Table, counters []string) []string {
	var parts []string
	for _, c := range counters {
		parts = append(parts, "ADD COLUMN IF NOT EXISTS "+quote(c)+" "+slotType(t.Column(c))+" NOT NULL DEFAULT 0")
	}
	return []string{"ALTER TABLE " + slotTable(t) + " " + strings.Join(parts, ", ")}
}

// numberType is the type of a slot's number.
func numberType(t *schema.Table) string {
	if t.Counter.Layout == schema.LayoutJournal {
		return "bigint"
	}
	return "smallint"
}

// WidenSlots makes room for the numbers of a journal's rows. The server writes
// the table anew, and no other session reads or writes it meanwhile: it is as small
// as the roll-up keeps it.
func (d *Dialect) WidenSlots(t *schema.Table) []string {
	return []string{"ALTER TABLE " + slotTable(t) + " ALTER COLUMN " + quote(t.Counter.SlotTable.Column) + " TYPE bigint"}
}

// DropSlots writes DROP TABLE IF EXISTS, or deletes the table's rows of a shared
// slot table.
func (d *Dialect) DropSlots(t *schema.Table) []string {
	if of := t.Counter.OfTable(quote, ""); of != "" {
		return []string{"DELETE FROM " + slotTable(t) + " WHERE " + of}
	}
	return []string{"DROP TABLE IF EXISTS " + slotTable(t)}
}

// CreateLocks says what the foreign key asks of the base table.
func (*Dialect) CreateLocks(t *schema.Table) []string {
	switch {
	case len(t.Counter.Key) == 0:
		return []string{"Takes no lock on " + t.Name + "."}
	case t.Counter.SlotTable.NoForeignKey:
		return []string{"Takes no lock on " + t.Name + ": no foreign key. A DELETE of its rows through slotsql drains first."}
	}
	return []string{
		"The foreign key takes SHARE ROW EXCLUSIVE on " + t.Name + " until the commit: it waits for transactions that",
		"have written to the table, and later writes wait behind it; queries go on. Set lock_timeout, and retry.",
	}
}

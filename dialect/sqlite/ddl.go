package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// CreateSlots writes the slot table and the triggers that keep it in step with
// the base table, whichever program writes that. The table is WITHOUT ROWID, so that no
// increment changes last_insert_rowid(); SQLite restores that and changes()
// after triggers by itself.
//
// The foreign key works only where foreign_keys is on; the triggers always do.
// It cascades deletes alone: an ON UPDATE CASCADE would move slots before the
// trigger that clears the way for them.
func (*Dialect) CreateSlots(t *schema.Table) []string {
	c := t.Counter
	if c.Layout == schema.LayoutShared {
		return []string{createShared(t)}
	}
	var defs []string
	for _, k := range c.Key {
		def := quote(k)
		if col := t.Column(k); col != nil && col.Type != "" {
			def += " " + col.Type
		}
		defs = append(defs, def+" NOT NULL")
	}
	defs = append(defs, quote(c.SlotTable.Column)+" INTEGER NOT NULL")
	for _, name := range c.Counters {
		defs = append(defs, quote(name)+" INTEGER NOT NULL DEFAULT 0")
	}
	for _, co := range c.Companions {
		def := quote(co.Column)
		if col := t.Column(co.Column); col != nil && col.Type != "" {
			def += " " + col.Type
		}
		defs = append(defs, def)
		if co.Stamp() != "" {
			defs = append(defs, quote(co.Stamp())+" INTEGER")
		}
	}
	key := list(columns("", c.Key...))
	primary := list(columns("", append(append([]string(nil), c.Key...), c.SlotTable.Column)...))
	defs = append(defs, "PRIMARY KEY ("+primary+")")
	if referable(t) && !c.SlotTable.NoForeignKey {
		defs = append(defs, "FOREIGN KEY ("+key+") REFERENCES "+quote(t.Name)+" ("+key+") ON DELETE CASCADE")
	}
	create := "CREATE TABLE IF NOT EXISTS " + slotTable(t) + " (" + list(defs) + ") WITHOUT ROWID"
	return append([]string{create}, triggers(t)...)
}

// AddSlots adds columns, which writes no row anew.
func (*Dialect) AddSlots(t *schema.Table, counters []string) []string {
	var out []string
	for _, c := range counters {
		out = append(out, "ALTER TABLE "+slotTable(t)+" ADD COLUMN "+quote(c)+" INTEGER NOT NULL DEFAULT 0")
	}
	return out
}

// DropSlots drops the triggers first, so that none is left that names a
// missing table. Of a shared slot table it deletes the table's rows.
func (*Dialect) DropSlots(t *schema.Table) []string {
	if of := t.Counter.OfTable(quote, ""); of != "" {
		return []string{"DELETE FROM " + slotTable(t) + " WHERE " + of}
	}
	var out []string
	for _, event := range triggerEvents {
		out = append(out, "DROP TRIGGER IF EXISTS "+triggerName(t, event))
	}
	return append(out, "DROP TABLE IF EXISTS "+slotTable(t))
}

// referable reports whether the key can be a foreign key's parent: exactly the
// columns of a unique key, in the same database, and with the columns' own
// collations (introspection marks a column whose index has another one).
// Otherwise every statement on the base table would fail with "foreign key
// mismatch" where foreign_keys is on.
func referable(t *schema.Table) bool {
	c := t.Counter
	if c.SlotTable.Schema != "" && !sameName(c.SlotTable.Schema, schemaOf(t)) || len(c.Key) == 0 {
		return false
	}
	for _, k := range c.Key {
		if col := t.Column(k); col == nil || strings.HasSuffix(col.Type, foreignCollation) {
			return false
		}
	}
	for _, u := range t.Uniques {
		if len(u.Columns) == len(c.Key) && containsAll(u.Columns, c.Key) {
			return true
		}
	}
	return false
}

func containsAll(all, some []string) bool {
	for _, s := range some {
		found := false
		for _, a := range all {
			found = found || a == s
		}
		if !found {
			return false
		}
	}
	return true
}

// CreateLocks says what creating the slot table asks of the base table.
func (*Dialect) CreateLocks(t *schema.Table) []string {
	if t.Counter.Layout == schema.LayoutShared {
		return []string{"Takes the database's write lock for a moment."}
	}
	return []string{"Takes the database's write lock for a moment. Triggers on " + t.Name + " delete the slots of a row with it."}
}

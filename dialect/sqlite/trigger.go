package sqlite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

const triggerPrefix = "slotsql_"

var triggerEvents = []string{"insert", "delete", "update"}

// triggerName names a trigger for its slot table, so that no second set can
// come to exist beside the first, even after the base table was renamed.
func triggerName(t *schema.Table, event string) string {
	return quote(schemaOf(t)) + "." + quote(triggerPrefix+t.Counter.SlotTable.Name+"_"+event)
}

// ownTrigger returns the slot table that a trigger name of slotsql's stands
// for.
func ownTrigger(name string) (slotTable string, ok bool) {
	rest, ok := strings.CutPrefix(name, triggerPrefix)
	if !ok {
		return "", false
	}
	for _, e := range triggerEvents {
		if s, ok := strings.CutSuffix(rest, "_"+e); ok {
			return s, true
		}
	}
	return "", false
}

// MissingTriggers implements dialect.TriggerKeeper. A table that has been rebuilt
// under its name has lost them.
func (*Dialect) MissingTriggers(t *schema.Table) (missing []string) {
	c := t.Counter
	if c.Layout == schema.LayoutShared || c.SlotTable.Schema != "" && !sameName(c.SlotTable.Schema, schemaOf(t)) {
		return nil
	}
	events := triggerEvents
	if c.Single() {
		events = events[:2]
	}
	for _, e := range events {
		name := triggerPrefix + c.SlotTable.Name + "_" + e
		if !slices.ContainsFunc(t.Triggers.Own, func(own string) bool { return sameName(own, name) }) {
			missing = append(missing, name)
		}
	}
	return missing
}

// triggers writes the triggers of a slot table in the base table's database;
// a slot table elsewhere cannot have any. Names inside a trigger are looked up
// in the trigger's own database, and must not be qualified.
func triggers(t *schema.Table) []string {
	c := t.Counter
	if c.SlotTable.Schema != "" && !sameName(c.SlotTable.Schema, schemaOf(t)) {
		return nil
	}
	if len(c.Key) == 0 {
		return singleRowTriggers(t)
	}
	slots := quote(c.SlotTable.Name)
	of := func(row string) string {
		parts := columns("", c.Key...)
		for i, p := range parts {
			parts[i] = p + " = " + row + "." + p
		}
		return strings.Join(parts, " AND ")
	}

	var move, moved []string
	for _, k := range columns("", c.Key...) {
		move = append(move, k+" = NEW."+k)
		moved = append(moved, "OLD."+k+" IS NOT NEW."+k)
	}
	return []string{
		// REPLACE deletes a row without firing DELETE triggers (unless
		// recursive_triggers is on): slots found at a new row's key are those
		// of a row that is gone.
		trigger(t, "insert", "AFTER INSERT", "", "DELETE FROM "+slots+" WHERE "+of("NEW")),
		trigger(t, "delete", "AFTER DELETE", "", "DELETE FROM "+slots+" WHERE "+of("OLD")),
		// Likewise for the key that a row moves to.
		trigger(t, "update", "AFTER UPDATE OF "+updateNames(t), strings.Join(moved, " OR "),
			"DELETE FROM "+slots+" WHERE "+of("NEW"),
			"UPDATE "+slots+" SET "+list(move)+" WHERE "+of("OLD")),
	}
}

// updateNames lists the names by which an UPDATE may set the key. SQLite
// compares the names of UPDATE OF with the names that SET uses, so that a
// rowid's other names have to be listed too.
func updateNames(t *schema.Table) string {
	names := columns("", t.Counter.Key...)
	if len(names) == 1 {
		if col := t.Column(t.Counter.Key[0]); col != nil && col.Identity {
			names = append(names, "rowid", "_rowid_", "oid")
		}
	}
	return list(names)
}

// singleRowTriggers keep a table without key right when it stops having one
// row. Folding changes no total, so it is done before any INSERT: the row that
// is there keeps what is its own, and a later row starts without slots. The UPDATE
// of a trigger can give its table no alias.
func singleRowTriggers(t *schema.Table) []string {
	base, slots := quote(t.Name), quote(t.Counter.SlotTable.Name)
	return []string{
		trigger(t, "insert", "BEFORE INSERT", "EXISTS (SELECT 1 FROM "+slots+")",
			"UPDATE "+base+" SET "+foldSet(t, base, "FROM "+slots+" AS "+slotAlias),
			"DELETE FROM "+slots),
		trigger(t, "delete", "AFTER DELETE", "NOT EXISTS (SELECT 1 FROM "+base+")",
			"DELETE FROM "+slots),
	}
}

func trigger(t *schema.Table, event, when, condition string, statements ...string) string {
	sql := "CREATE TRIGGER IF NOT EXISTS " + triggerName(t, event) + " " + when + " ON " + quote(t.Name)
	if condition != "" {
		sql += " WHEN " + condition
	}
	return sql + " BEGIN " + strings.Join(statements, "; ") + "; END"
}

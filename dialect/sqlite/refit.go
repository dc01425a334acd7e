package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// RefitSlots implements dialect.SlotRefitter. SQLite changes neither types nor
// foreign keys: the slot table is made anew, and its triggers with it. Slots without
// a row count for nothing, and a foreign key may forbid them.
func (d *Dialect) RefitSlots(t, slots *schema.Table, _ bool) []string {
	c := t.Counter
	var out []string
	for _, event := range triggerEvents {
		out = append(out, "DROP TRIGGER IF EXISTS "+triggerName(t, event))
	}
	old := "slotsql_refit_" + c.SlotTable.Name
	out = append(out, "ALTER TABLE "+slotTable(t)+" RENAME TO "+quote(old))
	create := d.CreateSlots(t)
	var names []string
	for i := range slots.Columns {
		if name := slots.Columns[i].Name; t.Column(name) != nil || sameName(name, c.SlotTable.Column) || strings.HasPrefix(name, "slotsql_at_") {
			names = append(names, name)
		}
	}
	schema := c.SlotTable.Schema
	if schema == "" {
		schema = schemaOf(t)
	}
	rows := "INSERT INTO " + slotTable(t) + " (" + list(columns("", names...)) + ") SELECT " + list(columns("slotsql_s", names...)) +
		" FROM " + quote(schema) + "." + quote(old) + " AS slotsql_s"
	if !c.Single() {
		var same []string
		for _, k := range c.Key {
			same = append(same, "slotsql_b."+quote(k)+" = slotsql_s."+quote(k))
		}
		rows += " WHERE EXISTS (SELECT 1 FROM " + quote(schemaOf(t)) + "." + quote(t.Name) + " AS slotsql_b WHERE " +
			strings.Join(same, " AND ") + ")"
	}
	out = append(out, create[0], rows, "DROP TABLE "+quote(schema)+"."+quote(old))
	return append(out, create[1:]...)
}

// DropColumns implements dialect.SlotRefitter. The triggers of a single row name the
// columns, and are made anew.
func (*Dialect) DropColumns(t *schema.Table, drop []string) []string {
	var out []string
	for _, event := range triggerEvents {
		out = append(out, "DROP TRIGGER IF EXISTS "+triggerName(t, event))
	}
	for _, c := range drop {
		out = append(out, "ALTER TABLE "+slotTable(t)+" DROP COLUMN "+quote(c))
	}
	return append(out, triggers(t)...)
}

package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// RefitSlots implements dialect.SlotRefitter. The server copies the table. The
// foreign key has to go while a column of it changes; its name is that of the slot
// table, whatever table it refers to.
func (d *Dialect) RefitSlots(t, slots *schema.Table, refer bool) []string {
	table := slotTable(t)
	var out []string
	if len(slots.ForeignKeys.Parents) > 0 {
		out = append(out, "ALTER TABLE "+table+" DROP FOREIGN KEY "+d.ifExists()+constraint(t, "fk"))
	}
	if refer {
		out = append(out, "DELETE slotsql_s FROM "+table+" AS slotsql_s LEFT JOIN "+baseTable(t)+" AS slotsql_b ON "+
			same("slotsql_b", t.Counter.Key, "slotsql_s", t.Counter.Key)+" WHERE slotsql_b."+quote(t.Counter.Key[0])+" IS NULL")
	}
	var parts []string
	for _, k := range t.Counter.Key {
		parts = append(parts, "MODIFY "+quote(k)+" "+t.Column(k).Type+" NOT NULL")
	}
	for _, c := range t.Counter.Counters {
		parts = append(
			parts,
			"DROP CONSTRAINT "+d.ifExists()+rangeConstraint(t, c),
			"MODIFY "+quote(c)+" "+slotType(t.Column(c))+" NOT NULL DEFAULT 0",
		)
	}
	out = append(out, "ALTER TABLE "+table+" "+strings.Join(parts, ", "))
	parts = nil
	for _, r := range ranges(t, t.Counter.Counters) {
		parts = append(parts, "ADD "+r)
	}
	if refer {
		parts = append(parts, "ADD "+foreignKey(t))
	}
	return append(out, "ALTER TABLE "+table+" "+strings.Join(parts, ", "))
}

// DropColumns implements dialect.SlotRefitter.
func (d *Dialect) DropColumns(t *schema.Table, columns []string) []string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, "DROP CONSTRAINT "+d.ifExists()+rangeConstraint(t, c), "DROP COLUMN "+quote(c))
	}
	return []string{"ALTER TABLE " + slotTable(t) + " " + strings.Join(parts, ", ")}
}

// ifExists has a constraint that is not there left out, where the server can.
func (d *Dialect) ifExists() string {
	if d.NoWait { // MariaDB
		return "IF EXISTS "
	}
	return ""
}

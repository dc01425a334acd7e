package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// RefitSlots implements dialect.SlotRefitter. The server writes the table anew where
// a type changes; all of it is one transaction.
func (d *Dialect) RefitSlots(t, slots *schema.Table, refer bool) []string {
	name, key := slotTable(t), keyList(t, "")
	var out []string
	if refer {
		out = append(out, fmt.Sprintf("DO $slotsql$ DECLARE k record; BEGIN FOR k IN SELECT c.conname FROM pg_catalog.pg_constraint c"+
			" WHERE c.conrelid = %s::pg_catalog.regclass AND c.contype = 'f' LOOP"+
			" EXECUTE pg_catalog.format('ALTER TABLE %%s DROP CONSTRAINT %%I', %[1]s, k.conname); END LOOP; END $slotsql$", "'"+strings.ReplaceAll(name, "'", "''")+"'"))
	}
	var parts []string
	retype := func(column, typ string) {
		if have := slots.Column(column); have != nil && have.Type != typ {
			parts = append(parts, "ALTER COLUMN "+quote(column)+" TYPE "+typ)
		}
	}
	for _, k := range t.Counter.Key {
		retype(k, t.Column(k).Type)
	}
	for _, c := range t.Counter.Counters {
		if base := t.Column(c); base.Numeric == schema.Decimal {
			retype(c, slotType(base))
		}
	}
	if refer {
		var same []string
		for _, k := range t.Counter.Key {
			same = append(same, "slotsql_b."+quote(k)+" = slotsql_s."+quote(k))
		}
		out = append(
			out,
			fmt.Sprintf("LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", qualified(t.Schema, t.Name)),
			fmt.Sprintf(
				"DELETE FROM %s AS slotsql_s WHERE NOT EXISTS (SELECT 1 FROM %s AS slotsql_b WHERE %s)",
				name,
				qualified(t.Schema, t.Name),
				strings.Join(same, " AND "),
			),
		)
		parts = append(
			parts,
			fmt.Sprintf("ADD FOREIGN KEY (%s) REFERENCES %s (%[1]s) ON DELETE CASCADE ON UPDATE CASCADE", key, qualified(t.Schema, t.Name)),
		)
	}
	if len(parts) > 0 {
		out = append(out, "ALTER TABLE "+name+" "+strings.Join(parts, ", "))
	}
	return out
}

// DropColumns implements dialect.SlotRefitter.
func (d *Dialect) DropColumns(t *schema.Table, columns []string) []string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, "DROP COLUMN IF EXISTS "+quote(c))
	}
	return []string{"ALTER TABLE " + slotTable(t) + " " + strings.Join(parts, ", ")}
}

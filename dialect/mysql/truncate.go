package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Truncate takes the slot table's foreign key away for the time of the
// statement, if it has one: the server refuses otherwise. TRUNCATE resets
// AUTO_INCREMENT, so a slot that outlived it would count for the next row of
// that key: both tables stay locked until the slots without a base row are
// gone. The statements behind must run after a failed TRUNCATE too; they then
// delete nothing.
func (d *Dialect) Truncate(t *schema.Table) (also string, before, after []string) {
	base, slots, key := baseTable(t), slotTable(t), t.Counter.Key
	if t.Storage.Partitioned {
		// The server does not truncate a partitioned table that is locked under two
		// names; and there is no foreign key.
		orphans := "DELETE FROM " + slots + " WHERE NOT EXISTS (SELECT 1 FROM " + base + ")"
		if len(key) > 0 {
			orphans = "DELETE slotsql_s FROM " + slots + " AS slotsql_s LEFT JOIN " + base + " ON " +
				same(base, key, "slotsql_s", t.Counter.SlotKey()) + " WHERE " +
				and(t.Counter.OfTable(quote, "slotsql_s."), base+"."+quote(key[0])+" IS NULL")
		}
		return "", []string{"LOCK TABLES " + base + " WRITE, " + slots + " WRITE, " + slots + " AS slotsql_s WRITE"}, []string{
			orphans,
			"UNLOCK TABLES",
		}
	}
	lock := "LOCK TABLES " + base + " WRITE, " + base + " AS slotsql_b WRITE, " + slots + " WRITE, " + slots + " AS slotsql_s WRITE"
	if len(key) == 0 {
		return "", []string{lock}, []string{
			"DELETE FROM " + slots + " WHERE NOT EXISTS (SELECT 1 FROM " + base + " AS slotsql_b)", "UNLOCK TABLES",
		}
	}
	if of := t.Counter.OfTable(quote, "slotsql_s."); of != "" {
		return "", []string{lock}, []string{
			"DELETE slotsql_s FROM " + slots + " AS slotsql_s LEFT JOIN " + base + " AS slotsql_b ON " +
				same("slotsql_b", key, "slotsql_s", t.Counter.SlotKey()) + " WHERE " + of + " AND slotsql_b." + quote(key[0]) + " IS NULL",
			"UNLOCK TABLES",
		}
	}
	orphans := "DELETE slotsql_s FROM " + slots + " AS slotsql_s LEFT JOIN " + base + " AS slotsql_b ON " +
		same("slotsql_b", key, "slotsql_s", key) + " WHERE slotsql_b." + quote(key[0]) + " IS NULL"
	if t.Counter.SlotTable.NoForeignKey {
		return "", []string{lock}, []string{orphans, "UNLOCK TABLES"}
	}
	return "",
		[]string{lock, "ALTER TABLE " + slots + " DROP FOREIGN KEY " + constraint(t, "fk")},
		[]string{orphans, "ALTER TABLE " + slots + " ADD " + foreignKey(t), "UNLOCK TABLES"}
}

// foreignKey writes the constraint that ties slots to their base row.
func foreignKey(t *schema.Table) string {
	list := strings.Join(quoteAll(t.Counter.Key), ", ")
	return "CONSTRAINT " + constraint(t, "fk") + " FOREIGN KEY (" + list + ") REFERENCES " + baseTable(t) +
		" (" + list + ") ON DELETE CASCADE ON UPDATE CASCADE"
}

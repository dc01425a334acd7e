package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ManyRowsDialect = (*Dialect)(nil)

// AddToRows implements rewrite.ManyRowsDialect, as AddMany does for slot rows. Where a
// row is missing, or a sum would not be stored as it is, the WHERE is an error.
func (d *Dialect) AddToRows(t *schema.Table, in rewrite.AddManySQL) string {
	if !d.NoWait {
		return ""
	}
	const base = "slotsql_b"
	var v manyValues
	var on, set []string
	for i, k := range t.Counter.Key {
		on = append(on, base+"."+quote(k)+" = "+v.key(t, i))
	}
	v.slot()
	wrong := []string{base + "." + quote(t.Counter.Key[0]) + " IS NULL"}
	for i, name := range in.Deltas {
		c, delta := base+"."+quote(name), v.delta(t, i, name)
		set = append(set, c+" = "+c+" + "+delta)
		if fits := d.Stores(t.Column(name), c, delta); fits != "" {
			wrong = append(wrong, "NOT ("+fits+")")
		}
	}
	return withoutWaiting + "UPDATE " + v.table(in.JSON) + " LEFT JOIN " + baseTable(t) + " AS " + base + " ON " + strings.Join(on, " AND ") +
		" SET " + strings.Join(set, ", ") + " WHERE IF(" + strings.Join(wrong, " OR ") + ", " + fails + ", 1)"
}

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ManyRowsDialect = (*Dialect)(nil)

// AddToRows joins the rows, given as JSON, to the table. Where a row is missing, or a sum would not
// be stored as it is, the WHERE is an error (of a subquery with two rows, 1242), which undoes the
// statement. So is, with a lock wait timeout of nothing, a lock that another transaction has: InnoDB
// then answers 1205 before it looks for a deadlock.
//
// MySQL has no such timeout, and so no such statement.
func (d *Dialect) AddToRows(t *schema.Table, in rewrite.ManyRowsSQL) string {
	if !d.NoWait {
		return ""
	}
	const base = "slotsql_b"
	var v manyValues
	var on, set []string
	for i, k := range t.Counter.Key {
		on = append(on, base+"."+quote(k)+" = "+v.key(t, i))
	}
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

const (
	withoutWaiting = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "
	fails          = "(SELECT 1 UNION ALL SELECT 2)"
)

// manyValues are the columns of the JSON that a statement for many rows takes, in
// the order in which they are asked for.
type manyValues struct{ columns []string }

func (v *manyValues) column(name, typ string) string {
	v.columns = append(v.columns, fmt.Sprintf("%s %s PATH '$[%d]'", name, typ, len(v.columns)))
	return "slotsql_v." + name
}

func (v *manyValues) key(t *schema.Table, i int) string {
	typ := "BIGINT"
	if t.Column(t.Counter.Key[i]).Unsigned {
		typ = "BIGINT UNSIGNED"
	}
	return v.column(fmt.Sprintf("k%d", i), typ)
}

func (v *manyValues) delta(t *schema.Table, i int, name string) string {
	typ := "BIGINT"
	if col := t.Column(name); col.Numeric == schema.Decimal {
		typ = fmt.Sprintf("DECIMAL(65, %d)", col.Scale)
	}
	return v.column(fmt.Sprintf("d%d", i), typ)
}

func (v *manyValues) table(json string) string {
	return "JSON_TABLE(" + json + ", '$[*]' COLUMNS (" + strings.Join(v.columns, ", ") + ")) AS slotsql_v"
}

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// AddMany joins the rows, given as JSON, to their slot rows. For one that is
// missing the WHERE is an error (of a subquery with two rows, 1242), which
// undoes the statement; so is a sum out of range, by the slot table's CHECK
// constraints, and, with a lock wait timeout of nothing, a lock that another
// transaction has: InnoDB then answers 1205 before it looks for a deadlock.
//
// MySQL has no such timeout, and so no such statement.
func (d *Dialect) AddMany(t *schema.Table, in rewrite.AddManySQL) string {
	if !d.NoWait || in.CheckBase || t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	const slotAlias = "slotsql_s"
	var v manyValues
	var on, set []string
	if of := t.Counter.OfCounters(quote, slotAlias+".", in.Deltas[0]); of != "" {
		on = append(on, of)
	}
	for i, k := range t.Counter.SlotKey() {
		on = append(on, slotAlias+"."+quote(k)+" = "+v.key(t, i))
	}
	on = append(on, slotAlias+"."+slotColumn(t)+" = "+v.slot())
	wrong := slotAlias + "." + slotColumn(t) + " IS NULL"
	for i, name := range in.Deltas {
		c := slotAlias + "." + quote(t.Counter.Cell(name))
		sum := c + " + " + v.delta(t, i, name)
		set = append(set, c+" = "+sum)
		if t.Counter.Layout == schema.LayoutShared {
			wrong = wrong + " OR NOT (" + sharedRange(t, name, sum) + ")"
		}
	}
	return withoutWaiting + "UPDATE " + v.table(in.JSON) + " LEFT JOIN " + slotTable(
		t,
	) + " AS " + slotAlias + " ON " + strings.Join(on, " AND ") +
		" SET " + strings.Join(set, ", ") + " WHERE IF(" + wrong + ", " + fails + ", 1)"
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

func (v *manyValues) slot() string { return v.column("slot", "INT") }

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

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// AddMany joins the rows, given as JSON, to their slot rows. For one that is
// missing the WHERE is an error (of a subquery with two rows, 1242), which
// undoes the statement; so is a sum out of range, by the slot table's CHECK
// constraints, and, with a lock wait timeout of nothing, a lock that another
// transaction has: InnoDB then answers 1205 before it looks for a deadlock.
//
// MySQL has no such timeout, and so no such statement.
func (d *Dialect) AddMany(t *rewrite.Table, in rewrite.AddManyText) string {
	if !d.NoWait || in.CheckBase || t.Counter.Shared != nil && len(in.Deltas) > 1 {
		return ""
	}
	const slotAlias = "slotsql_s"
	var columns, on, set []string
	column := func(name, typ string) string {
		columns = append(columns, fmt.Sprintf("%s %s PATH '$[%d]'", name, typ, len(columns)))
		return "slotsql_v." + name
	}
	if of := t.Counter.OfCounters(quote, slotAlias+".", in.Deltas[0]); of != "" {
		on = append(on, of)
	}
	for i, k := range t.Counter.SlotKey() {
		on = append(on, slotAlias+"."+quote(k)+" = "+column(fmt.Sprintf("k%d", i), keyType(t.Column(t.Counter.Key[i]))))
	}
	on = append(on, slotAlias+"."+slotColumn(t)+" = "+column("slot", "INT"))
	wrong := slotAlias + "." + slotColumn(t) + " IS NULL"
	for i, name := range in.Deltas {
		typ := "BIGINT"
		if col := t.Column(name); col.Numeric == rewrite.Decimal {
			typ = fmt.Sprintf("DECIMAL(65, %d)", col.Scale)
		}
		c := slotAlias + "." + quote(t.Counter.Cell(name))
		sum := c + " + " + column(fmt.Sprintf("d%d", i), typ)
		set = append(set, c+" = "+sum)
		if t.Counter.Shared != nil {
			wrong = wrong + " OR NOT (" + sharedRange(t, name, sum) + ")"
		}
	}
	return fmt.Sprintf("SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE JSON_TABLE(%s, '$[*]' COLUMNS (%s)) AS slotsql_v LEFT JOIN %s AS %s ON %s SET %s"+
		" WHERE IF(%s, (SELECT 1 UNION ALL SELECT 2), 1)",
		in.JSON, strings.Join(columns, ", "), slotTable(t), slotAlias, strings.Join(on, " AND "), strings.Join(set, ", "), wrong)
}

func keyType(c *rewrite.Column) string {
	if c.Unsigned {
		return "BIGINT UNSIGNED"
	}
	return "BIGINT"
}

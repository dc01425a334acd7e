package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ManyRowsDialect = (*Dialect)(nil)

// AddToRows counts the rows that may be added to, and adds to all or none.
// SQLite has one writer: nothing comes between the one and the other.
func (d *Dialect) AddToRows(t *schema.Table, in rewrite.ManyRowsSQL) string {
	var columns, on, set []string
	var may []string
	column := func(name string) string {
		columns = append(columns, fmt.Sprintf("json_extract(value, '$[%d]') AS %s", len(columns), name))
		return "slotsql_v." + name
	}
	for i, k := range t.Counter.Key {
		on = append(on, baseAlias+"."+quote(k)+" = "+column(fmt.Sprintf("k%d", i)))
	}
	for i, name := range in.Deltas {
		c, v := baseAlias+"."+quote(name), column(fmt.Sprintf("d%d", i))
		set = append(set, quote(name)+" = "+c+" + "+v)
		may = append(may, d.Stores(t.Column(name), c, v))
	}
	return fmt.Sprintf("WITH slotsql_v AS MATERIALIZED (SELECT %s FROM json_each(%s)) UPDATE %s AS %s SET %s FROM slotsql_v WHERE %s"+
		" AND (SELECT COUNT(*) FROM slotsql_v JOIN %[3]s AS %[4]s ON %[6]s AND %[7]s) = %[8]s",
		list(columns), in.JSON, baseTable(t), baseAlias, list(set), strings.Join(on, " AND "), strings.Join(may, " AND "), in.Count)
}

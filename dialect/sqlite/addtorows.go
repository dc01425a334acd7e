package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ManyRowsDialect = (*Dialect)(nil)

// AddToRows implements rewrite.ManyRowsDialect, as AddMany does for slot rows.
func (d *Dialect) AddToRows(t *schema.Table, in rewrite.AddManySQL) string {
	var columns, on, set []string
	var may []string
	column := func(at int, name string) string {
		columns = append(columns, fmt.Sprintf("json_extract(value, '$[%d]') AS %s", at, name))
		return "slotsql_v." + name
	}
	key := t.Counter.Key
	for i, k := range key {
		on = append(on, baseAlias+"."+quote(k)+" = "+column(i, fmt.Sprintf("k%d", i)))
	}
	for i, name := range in.Deltas {
		c, v := baseAlias+"."+quote(name), column(len(key)+1+i, fmt.Sprintf("d%d", i))
		set = append(set, quote(name)+" = "+c+" + "+v)
		may = append(may, d.Stores(t.Column(name), c, v))
	}
	return fmt.Sprintf("WITH slotsql_v AS MATERIALIZED (SELECT %s FROM json_each(%s)) UPDATE %s AS %s SET %s FROM slotsql_v WHERE %s"+
		" AND (SELECT COUNT(*) FROM slotsql_v JOIN %[3]s AS %[4]s ON %[6]s AND %[7]s) = %[8]s",
		list(columns), in.JSON, baseTable(t), baseAlias, list(set), strings.Join(on, " AND "), strings.Join(may, " AND "), in.Count)
}

package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// AddMany counts the slot rows that may be added to, and adds to all or none.
// SQLite has one writer: nothing comes between the one and the other.
func (*Dialect) AddMany(t *schema.Table, in rewrite.AddManySQL) string {
	if t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	var columns, on, may, set []string
	column := func(name string) string {
		columns = append(columns, fmt.Sprintf("json_extract(value, '$[%d]') AS %s", len(columns), name))
		return "slotsql_v." + name
	}
	var base []string
	if of := t.Counter.OfCounters(quote, slotAlias+".", in.Deltas[0]); of != "" {
		on = append(on, of)
	}
	for i, k := range t.Counter.SlotKey() {
		v := column(fmt.Sprintf("k%d", i))
		on = append(on, slotAlias+"."+quote(k)+" = "+v)
		base = append(base, baseAlias+"."+quote(t.Counter.Key[i])+" = "+v)
	}
	on = append(on, slotAlias+"."+quote(t.Counter.SlotTable.Column)+" = "+column("slot"))
	for i, name := range in.Deltas {
		v, c := column(fmt.Sprintf("d%d", i)), quote(t.Counter.Cell(name))
		set = append(set, c+" = "+slotAlias+"."+c+" + "+v)
		may = append(may, fmt.Sprintf("%s.%s + %s BETWEEN %d AND %d", slotAlias, c, v, -slotLimit, slotLimit))
		base = append(base, baseGuards(baseAlias, name)...)
	}
	if in.CheckBase {
		may = append(may, "EXISTS (SELECT 1 FROM "+baseTable(t)+" AS "+baseAlias+" WHERE "+strings.Join(base, " AND ")+")")
	}
	return fmt.Sprintf("WITH slotsql_v AS MATERIALIZED (SELECT %s FROM json_each(%s)) UPDATE %s AS %s SET %s FROM slotsql_v WHERE %s"+
		" AND (SELECT COUNT(*) FROM slotsql_v JOIN %[3]s AS %[4]s ON %[6]s AND %[7]s) = %[8]s",
		list(columns), in.JSON, slotTable(t), slotAlias, list(set), strings.Join(on, " AND "), strings.Join(may, " AND "), in.Count)
}

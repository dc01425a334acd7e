package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// AddMany locks the slot rows that no other session has locked, and adds to them if
// these are all. What the locking query finds it finds as of its latest version, and
// no other session changes it from then on: so the UPDATE has either all rows or none.
//
// The rows come as one array for each column: of the length of an array that
// is no constant the server assumes ten, and takes the index.
func (d *Dialect) AddMany(t *schema.Table, in rewrite.AddManySQL) string {
	if t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	key := t.Counter.Key
	var names, arrays, from, lock, match, set []string
	column := func(name, elem string) {
		arrays = append(arrays, "CAST(CAST("+in.Columns[len(arrays)]+" AS text) AS "+elem+"[])")
		names = append(names, name)
		from = append(from, "slotsql_v."+name)
	}
	if of := t.Counter.OfCounters(quote, "slotsql_l.", in.Deltas[0]); of != "" {
		lock, match = append(lock, of), append(match, t.Counter.OfCounters(quote, slotAlias+".", in.Deltas[0]))
	}
	for i, k := range t.Counter.SlotKey() {
		name := fmt.Sprintf("k%d", i)
		column(name, "bigint")
		lock = append(lock, "slotsql_l."+quote(k)+" = slotsql_v."+name)
		match = append(match, slotAlias+"."+quote(k)+" = slotsql_r."+name)
	}
	column("slot", "smallint")
	lock = append(lock, "slotsql_l."+quote(t.Counter.SlotTable.Column)+" = slotsql_v.slot")
	match = append(match, slotAlias+"."+quote(t.Counter.SlotTable.Column)+" = slotsql_r.slot")
	for i, name := range in.Deltas {
		col, c, delta := t.Column(name), quote(t.Counter.Cell(name)), fmt.Sprintf("d%d", i)
		column(delta, col.Type)
		if _, slotBound := bounds(col, t.Counter); slotBound != "" {
			lock = append(lock, between("slotsql_l."+c+" + slotsql_v."+delta, slotBound))
		}
		set = append(set, c+" = "+slotAlias+"."+c+" + slotsql_r."+delta)
	}
	if in.CheckBase {
		var base []string // as in Add
		for i, k := range key {
			base = append(base, fmt.Sprintf("%s.%s = slotsql_v.k%d", baseAlias, quote(k), i))
		}
		for _, name := range in.Deltas {
			base = append(base, baseGuard(t, baseAlias, name))
		}
		lock = append(lock, "EXISTS (SELECT 1 FROM "+qualified(t.Schema, t.Name)+" AS "+baseAlias+" WHERE "+strings.Join(base, " AND ")+")")
	}
	lock = append(lock, mayCount(t, in.Deltas, nil, in.Inserts))
	return fmt.Sprintf(
		"WITH slotsql_r AS (SELECT %s FROM unnest(%s) AS slotsql_v(%s) JOIN %s AS slotsql_l ON %s FOR NO KEY UPDATE OF slotsql_l SKIP LOCKED)"+
			" UPDATE %s AS %s SET %s FROM slotsql_r WHERE %s AND (SELECT COUNT(*) FROM slotsql_r) = %s",
		strings.Join(from, ", "),
		strings.Join(arrays, ", "),
		strings.Join(names, ", "),
		slotTable(t),
		strings.Join(lock, " AND "),
		slotTable(t),
		slotAlias,
		strings.Join(set, ", "),
		strings.Join(match, " AND "),
		in.Count,
	)
}

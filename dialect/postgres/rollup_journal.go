package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// most bounds what a batch locks.
func (w *rollUp) most() string {
	return w.Most(w.divisible())
}

// divisible reports whether a part of a row's slots may move: values of a companion
// that is the latest one move together.
func (w *rollUp) divisible() bool {
	return !w.Table.Counter.HasLatest()
}

// gather is pick, whatever has become of the base rows.
func (w *rollUp) gather() string {
	return "SELECT COUNT(*), CAST(pg_catalog.array_agg(slotsql_l.slotsql_c) AS text) FROM (SELECT " + slotAlias +
		".ctid AS slotsql_c FROM " + slotTable(w.Table) + " AS " + slotAlias + " WHERE " + w.within() + " AND " +
		w.full(slotAlias) + w.most() + " FOR UPDATE SKIP LOCKED) AS slotsql_l"
}

// merge puts the gathered slot rows of each key together in the one with the
// highest number, and deletes the others. The total of the locked rows stays what
// it is, so no lock of the base row is needed: a drain meets all of these rows or,
// when it has waited for their locks, the one that is left of them.
func (w *rollUp) merge() string {
	t := w.Table
	slot := quote(t.Counter.SlotTable.Column)
	list := []string{slotAlias + ".ctid AS slotsql_c", slotAlias + "." + slot}
	sums := []string{"pg_catalog.max(slotsql_m." + slot + ") AS slotsql_g"}
	var set []string
	for _, k := range t.Counter.Key {
		list, sums = append(list, slotAlias+"."+quote(k)), append(sums, "slotsql_m."+quote(k))
	}
	add := func(column, value string) {
		c := quote(column)
		list, sums, set = append(list, slotAlias+"."+c), append(sums, value+" AS "+c), append(set, c+" = slotsql_t."+c)
	}
	for _, c := range t.Counter.Counters {
		add(c, "SUM(slotsql_m."+quote(c)+")")
	}
	for _, co := range t.Counter.Companions {
		c := "slotsql_m." + quote(co.Column)
		if co.Merge != schema.Latest {
			add(co.Column, string(co.Merge)+"("+c+")")
			continue
		}
		stamp := "slotsql_m." + quote(co.Stamp())
		add(co.Column, "(pg_catalog.array_agg("+c+" ORDER BY "+stamp+" DESC NULLS LAST, slotsql_m."+slot+" DESC))[1]")
		add(co.Stamp(), "pg_catalog.max("+stamp+")")
	}
	group, of, both := "", "TRUE", "TRUE"
	if len(t.Counter.Key) > 0 {
		group = " GROUP BY " + keyList(t, "slotsql_m.")
		of, both = keyEquals(t, "slotsql_m", "slotsql_t"), keyEquals(t, "slotsql_m", "slotsql_u")
	}
	kept := "slotsql_m." + slot + " = slotsql_t.slotsql_g"
	returned := []string{"slotsql_t.slotsql_g"}
	for _, k := range t.Counter.Key {
		returned = append(returned, "slotsql_t."+quote(k))
	}
	return "WITH slotsql_m AS MATERIALIZED (SELECT " + strings.Join(list, ", ") + " FROM " + slotTable(t) + " AS " + slotAlias +
		" WHERE " + slotAlias + ".ctid = ANY (" + w.use(2*len(t.Counter.Key)) + ")), " +
		"slotsql_t AS MATERIALIZED (SELECT " + strings.Join(sums, ", ") + " FROM slotsql_m" + group + " HAVING COUNT(*) > 1), " +
		"slotsql_u AS (UPDATE " + slotTable(t) + " AS " + slotAlias + " SET " + strings.Join(set, ", ") +
		" FROM slotsql_m, slotsql_t WHERE " + slotAlias + ".ctid = slotsql_m.slotsql_c AND " + of + " AND " + kept +
		" RETURNING " + strings.Join(returned, ", ") + ") " +
		"DELETE FROM " + slotTable(t) + " AS " + slotAlias + " USING slotsql_m, slotsql_u" +
		" WHERE " + slotAlias + ".ctid = slotsql_m.slotsql_c AND " + both +
		" AND slotsql_m." + slot + " <> slotsql_u.slotsql_g"
}

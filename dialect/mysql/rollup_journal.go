package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// gathered locks slot rows that hold something, whatever has become of their base
// rows.
func (w *rollUp) gathered() string {
	return "SELECT " + strings.Join(w.values(), ", ") + " FROM " + slotTable(w.Table) + " AS slotsql_s FORCE INDEX (PRIMARY) WHERE " +
		w.within("slotsql_s") + " AND " + w.full("slotsql_s") + w.most() + " FOR UPDATE SKIP LOCKED"
}

// merge puts the gathered slot rows of each key together in the one with the
// highest number, and empties the others. The total of the locked rows stays what
// it is, so no lock of the base row is needed: a drain meets all of these rows or,
// when it has waited for their locks, the one that is left of them. Only columns
// outside the key are written, so the foreign key is not looked at.
func (w *rollUp) merge() string {
	t := w.Table
	over := " OVER (" + w.partition() + ")"
	list := []string{"slotsql_l.n", "MAX(slotsql_l.n)" + over + " AS g", "COUNT(*)" + over + " AS d"}
	for i := range t.Counter.Key {
		list = append(list, fmt.Sprintf("slotsql_l.k%d", i+1))
	}
	var set []string
	keep := func(column, value, empty string) {
		set = append(set, fmt.Sprintf("slotsql_s.%s = IF(slotsql_f.n = slotsql_f.g, slotsql_f.%s, %s)", quote(column), value, empty))
	}
	for i, c := range t.Counter.Counters {
		list = append(list, fmt.Sprintf("SUM(slotsql_l.c%d)%s AS t%d", i+1, over, i+1))
		keep(c, fmt.Sprintf("t%d", i+1), "0")
	}
	for i := range t.Counter.Companions {
		co := &t.Counter.Companions[i]
		keep(co.Column, fmt.Sprintf("x%d", i+1), "NULL")
		if co.Merge != schema.Latest {
			list = append(list, fmt.Sprintf("%s(slotsql_l.m%d)%s AS x%d", co.Merge, i+1, over, i+1))
			continue
		}
		list = append(
			list,
			w.newest(i+1),
			fmt.Sprintf("MAX(slotsql_l.a%d)%s AS y%d", i+1, over, i+1),
		)
		keep(co.Stamp(), fmt.Sprintf("y%d", i+1), "NULL")
	}
	return "UPDATE (SELECT " + strings.Join(list, ", ") + " FROM (" + w.gathered() + ") AS slotsql_l" + all +
		") AS slotsql_f STRAIGHT_JOIN " + slotTable(t) + " AS slotsql_s FORCE INDEX (PRIMARY) ON " + w.row() + " SET " +
		strings.Join(set, ", ") + " WHERE slotsql_f.d > 1"
}

package sqlite

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// nextStamp writes the number of the next setting of a companion of the row q.
// There is one writer, so that no two settings get the same.
func nextStamp(t *schema.Table, co *schema.Companion, q string) string {
	return "(SELECT COALESCE(MAX(slotsql_v." + quote(co.Stamp()) + "), 0) + 1 FROM " + slotTable(t) + " AS slotsql_v" +
		whereKey(t, "slotsql_v", q) + ")"
}

func whereKey(t *schema.Table, s, q string) string {
	if len(t.Counter.Key) == 0 {
		return ""
	}
	return " WHERE " + match(s, q, t.Counter.Key)
}

// merged writes the merged value of a companion, as Total writes that of a counter. Of the last setting it is the value in
// the row with the greatest stamp: SQLite takes columns beside a single MAX from its row
// (https://www.sqlite.org/lang_select.html#bareagg).
func merged(t *schema.Table, co *schema.Companion, qualifier string) string {
	base, value := qualifier+"."+quote(co.Column), slotAlias+"."+quote(co.Column)
	slots := slotsOf(t, qualifier)
	if co.Merge != schema.Latest {
		most := string(co.Merge) + "(" + value + ")"
		return likeColumn(base, most+" IS NOT NULL", string(co.Merge)+"("+base+", "+most+")", slots)
	}
	return likeColumn(base, "MAX("+slotAlias+"."+quote(co.Stamp())+") IS NOT NULL", value, slots)
}

package sqlite

import "github.com/slotsql/slotsql/rewrite"

// nextStamp writes the number of the next setting of a companion of the row q.
// There is one writer, so that no two settings get the same.
func nextStamp(t *rewrite.Table, co *rewrite.Companion, q string) string {
	return "(SELECT COALESCE(MAX(slotsql_v." + quote(co.Stamp()) + "), 0) + 1 FROM " + slotTable(t) + " AS slotsql_v" +
		whereKey(t, "slotsql_v", q) + ")"
}

func whereKey(t *rewrite.Table, s, q string) string {
	if len(t.Counter.Key) == 0 {
		return ""
	}
	return " WHERE " + match(s, q, t.Counter.Key)
}

// merged writes the merged value of a companion: a compound subquery of which
// exactly one branch gives a row, and the last is the plain column, for the
// reasons that Total gives.
func merged(t *rewrite.Table, co *rewrite.Companion, qualifier string) string {
	base, value := qualifier+"."+quote(co.Column), slotAlias+"."+quote(co.Column)
	slots := slotsOf(t, qualifier)
	if co.Merge != rewrite.Latest {
		most := "(SELECT " + string(co.Merge) + "(" + value + ") " + slots + ")"
		return "(SELECT " + string(co.Merge) + "(" + base + ", " + most + ") WHERE " + most + " IS NOT NULL UNION ALL SELECT " + base +
			" WHERE " + most + " IS NULL)"
	}
	stamp := quote(co.Stamp())
	last := "(SELECT MAX(slotsql_v." + stamp + ") FROM " + slotTable(t) + " AS slotsql_v" + whereKey(t, "slotsql_v", qualifier) + ")"
	and := " AND "
	if len(t.Counter.Key) == 0 {
		and = " WHERE "
	}
	return "(SELECT " + value + " " + slots + and + slotAlias + "." + stamp + " = " + last +
		" UNION ALL SELECT " + base + " WHERE " + last + " IS NULL)"
}

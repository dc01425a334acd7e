package mysql

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// stampNow is when a companion was set: the time at which its statement began,
// so that of two statements of which one ends before the other begins the
// second has the later stamp. In UTC, which has no hour twice.
const stampNow = "UTC_TIMESTAMP(6)"

// later is the stamp of a statement that sets a slot's companion. Statements
// that share a slot may have waited for each other: the one that comes to the
// slot last may have begun first, and must not make the slot's stamp older, or
// a value that another slot holds from before would be the latest.
func later(stamp, now string) string {
	return "GREATEST(COALESCE(" + stamp + ", " + now + "), " + now + ")"
}

// extreme is the function that merges two values, NULL when one of them is.
func extreme(m schema.Merge) string {
	if m == schema.Min {
		return "LEAST"
	}
	return "GREATEST"
}

// merged writes the merged value of a companion.
func merged(t *schema.Table, co *schema.Companion, qualifier string) string {
	s := alias("slotsql_s", qualifier)
	base, value := qualifier+"."+quote(co.Column), s+"."+quote(co.Column)
	from := " FROM " + slotTable(t) + " AS " + s
	if len(t.Counter.Key) > 0 {
		from += slotIndex(t) + " WHERE " + same(s, t.Counter.Key, qualifier, t.Counter.Key)
	} else {
		from += " WHERE TRUE"
	}
	if co.Merge != schema.Latest {
		return "COALESCE(" + extreme(co.Merge) + "(" + base + ", (SELECT " + string(co.Merge) + "(" + value + ")" + from + ")), " +
			base + ")"
	}
	stamp := s + "." + quote(co.Stamp())
	latest := "(SELECT " + value + from + " AND " + stamp + " IS NOT NULL" + latestFirst(t, co, s) + " LIMIT 1)"
	if t.Column(co.Column).Nullable {
		// A slot may hold a NULL.
		return "IF((SELECT MAX(" + stamp + ")" + from + ") IS NULL, " + base + ", " + latest + ")"
	}
	return "COALESCE(" + latest + ", " + base + ")"
}

// latestFirst orders slots by their stamps, and by their numbers where these
// are the same.
func latestFirst(t *schema.Table, co *schema.Companion, s string) string {
	return " ORDER BY " + s + "." + quote(co.Stamp()) + " DESC, " + s + "." + slotColumn(t) + " DESC"
}

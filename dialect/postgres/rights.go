package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A slotted increment writes the slot table, whose rights are not those of the base
// table. So it asks for the rights that the application's own statement needs, and
// affects no row where one is missing: what runs then is that statement, and the
// server refuses it. The functions are stable and their arguments constants, so the
// server asks once for each execution, before it looks at a row; they go by the
// current role, whatever SET ROLE and REVOKE have made of it.

// mayWrite reports whether the role may update the counters and companions, and insert
// the columns that an upsert gives. What else the plain statement reads is read by
// the statement that this is a part of.
func mayWrite(t *schema.Table, deltas []string, companions []rewrite.CompanionSQL, inserts []string) string {
	for _, co := range companions {
		deltas = append(deltas, co.Column)
	}
	may := allowed(t, "UPDATE", deltas)
	if inserts != nil {
		may += " AND " + allowed(t, "INSERT", inserts)
	}
	return may
}

// mayCount is mayWrite and the condition that the role may read the counters and the key:
// a statement that does not name the base table reads neither.
func mayCount(t *schema.Table, deltas []string, companions []rewrite.CompanionSQL, inserts []string) string {
	read := append(append([]string(nil), t.Counter.Key...), deltas...)
	return mayWrite(t, append([]string(nil), deltas...), companions, inserts) + " AND " + allowed(t, "SELECT", read)
}

// allowed reports whether the role has a privilege for each of the columns.
func allowed(t *schema.Table, privilege string, columns []string) string {
	table := literal(qualified(t.Schema, t.Name)) + "::pg_catalog.regclass"
	var each []string
	for _, c := range columns {
		each = append(each, "pg_catalog.has_column_privilege("+table+", "+literal(c)+", '"+privilege+"')")
	}
	if len(each) == 1 {
		return each[0]
	}
	return "(pg_catalog.has_table_privilege(" + table + ", '" + privilege + "') OR " + strings.Join(each, " AND ") + ")"
}

func deltaColumns(deltas []rewrite.Delta) []string {
	out := make([]string, len(deltas))
	for i, d := range deltas {
		out[i] = d.Column
	}
	return out
}

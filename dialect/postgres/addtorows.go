package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ManyRowsDialect = (*Dialect)(nil)

// AddToRows locks the rows that no other session has locked, and adds to them if these are all.
// What the locking query finds it finds as of its latest version, and no other session changes it
// from then on: so the UPDATE has either all rows or none. A sum that leaves a column's range is an
// error.
//
// The rows come as one array for each column: of the length of an array that is no constant the
// server assumes ten, and takes the index.
func (d *Dialect) AddToRows(t *schema.Table, in rewrite.ManyRowsSQL) string {
	var names, arrays, from, lock, match, set []string
	column := func(name, elem string) {
		arrays = append(arrays, "CAST(CAST("+in.Columns[len(arrays)]+" AS text) AS "+elem+"[])")
		names = append(names, name)
		from = append(from, "slotsql_v."+name)
	}
	for i, k := range t.Counter.Key {
		name := fmt.Sprintf("k%d", i)
		column(name, "bigint")
		lock = append(lock, "slotsql_l."+quote(k)+" = slotsql_v."+name)
		match = append(match, baseAlias+"."+quote(k)+" = slotsql_r."+name)
	}
	for i, c := range in.Deltas {
		name := fmt.Sprintf("d%d", i)
		column(name, t.Column(c).Type)
		set = append(set, quote(c)+" = "+baseAlias+"."+quote(c)+" + slotsql_r."+name)
	}
	table := qualified(t.Schema, t.Name)
	return fmt.Sprintf(
		"WITH slotsql_r AS (SELECT %s FROM unnest(%s) AS slotsql_v(%s) JOIN %s AS slotsql_l ON %s FOR NO KEY UPDATE OF slotsql_l SKIP LOCKED)"+
			" UPDATE %[4]s AS %[6]s SET %[7]s FROM slotsql_r WHERE %[8]s AND (SELECT COUNT(*) FROM slotsql_r) = %[9]s",
		strings.Join(from, ", "),
		strings.Join(arrays, ", "),
		strings.Join(names, ", "),
		table,
		strings.Join(lock, " AND "),
		baseAlias,
		strings.Join(set, ", "),
		strings.Join(match, " AND "),
		in.Count,
	)
}

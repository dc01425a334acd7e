package sqlite

import "github.com/slotsql/slotsql/rewrite"

// Total writes a scalar subquery with two branches of which exactly one gives
// a row: base value plus slots where these sum to something, and the base
// column itself where they do not. (Adding a zero would turn a TEXT into a
// number, in a counter whose slots exist for the sake of another one.)
//
// The second branch is not only there for its value. SQLite takes the affinity
// and the declared type of a compound subquery from its last SELECT, which is
// the plain column: `views > '5'`, IN lists, joins on text columns and
// ColumnType.DatabaseTypeName come out as for the column, while a TEXT, REAL
// or NULL that stands in the column comes out untouched. A CAST would keep the
// affinity but change the former, and COALESCE would keep neither. So the form
// is the same whether comparable is asked for or not.
//
// One thing is not the column's: its collation, where a TEXT that stands in an
// INTEGER column is compared with a column of another collation.
func (*Dialect) Total(t *rewrite.Table, qualifier, column string, comparable bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	value := qualifier + "." + quote(column)
	sum := "SUM(" + slotAlias + "." + quote(t.Counter.Cell(column)) + ")"
	slots := slotsOf(t, qualifier, column)
	return "(SELECT " + value + " + " + sum + " " + slots + " HAVING " + sum + " <> 0" +
		" UNION ALL SELECT " + value + " WHERE COALESCE((SELECT " + sum + " " + slots + "), 0) = 0)"
}

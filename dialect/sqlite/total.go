package sqlite

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Total writes a scalar subquery: base value plus slots where these sum to something, and the base column where they do
// not. (Adding a zero would turn a TEXT into a number, in a counter whose slots exist for the sake of another one.) It
// looks once for the row's slots, whether there are any or not.
//
// Its second branch gives no row. SQLite takes the affinity
// and the declared type of a compound subquery from its last SELECT, which is
// the plain column: `views > '5'`, IN lists, joins on text columns and
// ColumnType.DatabaseTypeName come out as for the column, while a TEXT, REAL
// or NULL that stands in the column comes out untouched. A CAST would keep the
// affinity but change the former, and COALESCE would keep neither. So the form
// is the same whether comparable is asked for or not.
//
// One thing is not the column's: its collation, where a TEXT that stands in an
// INTEGER column is compared with a column of another collation.
func (*Dialect) Total(t *schema.Table, qualifier, column string, comparable bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	base, sum := qualifier+"."+quote(column), "SUM("+slotAlias+"."+quote(t.Counter.Cell(column))+")"
	return likeColumn(base, sum+" <> 0", base+" + "+sum, slotsOf(t, qualifier, column))
}

// likeColumn writes a subquery that has value where a condition is met, and the base column elsewhere, and that compares as
// this column. Of slots the first branch is an aggregate without groups, which has one row always; no slots do not meet the condition.
func likeColumn(base, condition, value, slots string) string {
	if slots != "" {
		slots = " " + slots
	}
	return "(SELECT CASE WHEN " + condition + " THEN " + value + " ELSE " + base + " END" + slots +
		" UNION ALL SELECT " + base + " WHERE FALSE)"
}

var _ rewrite.ObservingDialect = (*Dialect)(nil)

// HasSlots implements rewrite.ObservingDialect.
func (*Dialect) HasSlots(t *schema.Table, qualifier string) string {
	return "EXISTS (SELECT 1 " + slotsOf(t, qualifier, t.Counter.Counters...) + ")"
}

// HeldSlots implements rewrite.ObservingDialect. No other session writes while a transaction has changed a row.
func (d *Dialect) HeldSlots(t *schema.Table, qualifier string) string {
	return d.HasSlots(t, qualifier)
}

package postgres

import (
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ rewrite.PortionDialect = (*Dialect)(nil)
	_ dialect.PortionMover   = (*Dialect)(nil)
)

// Taken implements rewrite.PortionDialect. The update locks the newest version of the slot
// row, and evaluates its conditions for that; both subqueries are evaluated once, as the
// statement's snapshot sees them. The slot row's version is that of the snapshot where it has the
// same xmin: another session that has changed it since is another transaction. So both
// rows are looked at as of the snapshot.
//
// No lock is taken on the base row. (The foreign key is not looked up for an update of a slot
// row that another transaction has made.)
func (*Dialect) Taken(t *schema.Table, in rewrite.PortionSQL) (condition string, proves bool) {
	row := t.Counter.SlotRow(func(c string) string { return slotAlias + "." + quote(c) }, in.Column, in.Key, in.Slot)
	where := row[0]
	for _, c := range row[1:] {
		where += " AND " + c
	}
	return "xmin = (SELECT " + slotAlias + ".xmin FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + where +
		") AND (SELECT 1 FROM " + in.Ref + " WHERE " + in.Base + ") = 1", true
}

// BaseHolds implements rewrite.PortionDialect: Taken proves it.
func (*Dialect) BaseHolds(*schema.Table, rewrite.PortionSQL) string { return "" }

// LockBase implements rewrite.PortionDialect.
func (*Dialect) LockBase(_ *schema.Table, in rewrite.PortionSQL) string {
	return "SELECT '', " + quote(in.Column) + ", " + in.Bound + " FROM " + in.Ref + " WHERE " + in.Base + " FOR NO KEY UPDATE"
}

// Raised implements rewrite.PortionDialect.
func (*Dialect) Raised(c *schema.Column, counter, amount string) string {
	return within(c, "LEAST", counter+"::numeric + "+amount+"::numeric", 1)
}

// Lowered implements rewrite.PortionDialect.
func (*Dialect) Lowered(c *schema.Column, counter, amount string) string {
	return within(c, "GREATEST", counter+"::numeric - "+amount+"::numeric", -1)
}

// within writes a number in the column's type, or the end of its range on the number's side.
func within(c *schema.Column, least, number string, side int64) string {
	end := int64(1)<<(c.Bits-2) - 1 + int64(1)<<(c.Bits-2) // without overflow
	return fmt.Sprintf("CAST(%s(%s, %d) AS %s)", least, number, side*end, c.Type)
}

// Moving implements dialect.PortionMover.
func (*Dialect) Moving() dialect.SideTx {
	return dialect.SideTx{
		Begin:  beginOwn("ISOLATION LEVEL READ COMMITTED READ WRITE", "1s"),
		Commit: []string{"COMMIT"}, Rollback: []string{"ROLLBACK"},
	}
}

package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ rewrite.PortionDialect = (*Dialect)(nil)
	_ dialect.PortionMover   = (*Dialect)(nil)
)

// Take writes the update of one slot row. It cannot look at the base value: an UPDATE that
// reads the base row locks it, and a query in the transaction would fix its snapshot. So it
// affects no row on another server than the one that is to be asked for the value.
func (d *Dialect) Take(t *rewrite.Table, in rewrite.PortionSQL) string {
	if d.StatementLog {
		return "" // which must not hold the name of a server
	}
	c := quote(in.Column)
	where := append(t.Counter.SlotRow(quote, in.Column, in.Key, in.Slot), c+" >= "+in.Need, here+" = "+in.Place)
	return "UPDATE " + slotTable(t) + " SET " + c + " = " + c + " - " + in.Amount + " WHERE " + strings.Join(where, " AND ")
}

// Value implements rewrite.PortionDialect.
func (d *Dialect) Value(_ *rewrite.Table, in rewrite.PortionSQL, lock bool) string {
	q := "SELECT " + here + ", " + quote(in.Column) + " FROM " + in.Ref + " WHERE " + in.Where
	if lock {
		q += " FOR UPDATE"
	}
	return q
}

// Moving implements dialect.PortionMover. The level is one that a binary log of statements
// takes.
func (*Dialect) Moving() (connected, begin, commitWith, rollbackWith []string) {
	return []string{
		"SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1",
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
	}, []string{"START TRANSACTION READ WRITE"}, []string{commit}, []string{rollback}
}

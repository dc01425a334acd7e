package mysql

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ rewrite.PortionDialect = (*Dialect)(nil)
	_ dialect.PortionMover   = (*Dialect)(nil)
)

// Taken implements rewrite.PortionDialect. An UPDATE that reads the base row locks it, and a
// query in the transaction would fix its snapshot. So the update affects no row on another
// server than the one that is to be asked for the base row, and none at SERIALIZABLE, where it would
// have to lock what it is told.
func (d *Dialect) Taken(_ *schema.Table, in rewrite.PortionSQL) (condition string, proves bool) {
	if d.StatementLog {
		return "", false // which must not hold the name of a server
	}
	return here + " = " + in.Place + " AND " + d.level() + " <> 'SERIALIZABLE'", false
}

// BaseHolds implements rewrite.PortionDialect.
func (*Dialect) BaseHolds(_ *schema.Table, in rewrite.PortionSQL) string {
	return "SELECT " + here + " FROM " + in.Ref + " WHERE " + in.Base
}

// LockBase implements rewrite.PortionDialect.
func (*Dialect) LockBase(_ *schema.Table, in rewrite.PortionSQL) string {
	return "SELECT " + here + ", " + quote(in.Column) + ", " + in.Bound + " FROM " + in.Ref + " WHERE " + in.Base + " FOR UPDATE"
}

// Raised implements rewrite.PortionDialect: a sum that no BIGINT holds is an error, which
// proves nothing.
func (*Dialect) Raised(_ *schema.Column, counter, amount string) string {
	return "(" + counter + " + " + amount + ")"
}

// Lowered implements rewrite.PortionDialect. Below zero an UNSIGNED difference is an error.
func (*Dialect) Lowered(_ *schema.Column, counter, amount string) string {
	return "(" + counter + " - " + amount + ")"
}

// Moving implements dialect.PortionMover. The level is one that a binary log of statements
// takes.
func (*Dialect) Moving() dialect.SideTx {
	return dialect.SideTx{
		Connected: []string{
			"SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1",
			"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		},
		Begin: []string{"START TRANSACTION READ WRITE"}, Commit: []string{commit}, Rollback: []string{rollback},
	}
}

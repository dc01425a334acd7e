package mysql

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ dialect.TicketLeaser   = (*Dialect)(nil)
	_ rewrite.TryLockDialect = (*Dialect)(nil)
)

// Leasing implements dialect.TicketLeaser. MariaDB takes 0 seconds; a second is the least
// that MySQL waits. The level is one that a binary log of statements takes.
func (d *Dialect) Leasing() dialect.SideTx {
	wait := "1"
	if d.MariaDB {
		wait = "0"
	}
	return dialect.SideTx{Connected: []string{
		"SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = " + wait,
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
	}}
}

// TryLock implements rewrite.TryLockDialect. On MySQL only a query can be told not to wait.
func (d *Dialect) TryLock(_ *schema.Table, s rewrite.Scope) string {
	if !d.MySQL {
		return ""
	}
	q := "SELECT 1 FROM " + s.Ref
	if s.Where != "" {
		q += " WHERE (" + s.Where + ")"
	}
	return q + " FOR UPDATE NOWAIT"
}

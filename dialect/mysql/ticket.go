package mysql

import "github.com/slotsql/slotsql/dialect"

var _ dialect.TicketLeaser = (*Dialect)(nil)

// Leasing implements dialect.TicketLeaser. MariaDB takes 0 seconds; a second is the least
// that MySQL waits. The level is one that a binary log of statements takes.
func (d *Dialect) Leasing() []string {
	wait := "1"
	if d.MariaDB {
		wait = "0"
	}
	return append(d.OwnSettings(),
		"SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = "+wait,
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
}

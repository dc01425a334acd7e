package postgres

import "github.com/slotsql/slotsql/dialect"

var _ dialect.TicketLeaser = (*Dialect)(nil)

// Leasing implements dialect.TicketLeaser. Who waits for so short a time never looks for a
// deadlock.
func (*Dialect) Leasing() dialect.SideTx {
	return dialect.SideTx{
		Begin:  beginOwn("ISOLATION LEVEL READ COMMITTED READ WRITE", "50ms"),
		Commit: []string{"COMMIT"}, Rollback: []string{"ROLLBACK"},
	}
}

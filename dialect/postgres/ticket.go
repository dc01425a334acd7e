package postgres

import "github.com/slotsql/slotsql/dialect"

var _ dialect.TicketLeaser = (*Dialect)(nil)

// Leasing implements dialect.TicketLeaser. Who waits for so short a time never looks for a
// deadlock.
func (*Dialect) Leasing() []string {
	return []string{
		"SELECT pg_catalog.set_config('lock_timeout', '50ms', false), pg_catalog.set_config('default_transaction_isolation', 'read committed', false)",
	}
}

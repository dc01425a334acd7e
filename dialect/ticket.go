package dialect

// A TicketLeaser is a dialect on whose engine blocks of numbers are leased on connections of
// slotsql's own, beside transactions of the application.
type TicketLeaser interface {
	// Leasing returns the transactions of a side connection that leases blocks. A lease, which
	// is one statement, waits there for a locked row as briefly as the engine allows: the
	// transaction that has it may be the one that waits for the lease.
	Leasing() SideTx
}

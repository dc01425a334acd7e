package dialect

// A PortionMover is a rewrite.PortionDialect that provides what a side session needs to
// move portions from base rows to slots.
type PortionMover interface {
	// Moving returns the transactions of a side connection that moves portions, which wait up
	// to a second for a lock.
	Moving() SideTx
}

// SideTx holds the statements that begin and end the transactions of a side connection, and
// those that it runs first, when it has been opened. Where a session may belong to others between
// transactions, such as behind a transaction pooler of PostgreSQL, Connected is empty: what a
// transaction needs is set in it, and ends with it.
type SideTx struct {
	Connected               []string
	Begin, Commit, Rollback []string // empty: each statement is a transaction
}

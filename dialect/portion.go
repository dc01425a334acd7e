package dialect

// A PortionMover is a rewrite.PortionDialect: it says how a session of slotsql's own moves
// portions from base rows to slots.
type PortionMover interface {
	// Moving returns the statements that such a session runs when it is connected, and
	// those that begin and end a transaction of it, which waits a second for a lock.
	Moving() (connected, begin, commit, rollback []string)
}

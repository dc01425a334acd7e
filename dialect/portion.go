package dialect

// A PortionMover is a rewrite.PortionDialect that provides what a side session needs to
// move portions from base rows to slots.
type PortionMover interface {
	// Moving returns the statements that a side connection that moves portions runs first,
	// and those that begin and end its transactions, which wait up to a second for a lock.
	Moving() (connected, begin, commit, rollback []string)
}

package dialect

// A LimitLifter is a Dialect of an engine some of whose settings can be changed for one
// transaction. What the application sets for its own statements, such as how long one may run,
// or whether it is compiled, must not fail or slow down slotsql's own.
type LimitLifter interface {
	// LiftLimits writes the statement that lifts such limits until the transaction ends.
	LiftLimits() string
	// Limits writes a query whose one row, of text, is what LiftLimits changes, and SetLimits
	// the statement that sets it again for the rest of the transaction, to arguments.
	Limits() string
	SetLimits() string
}

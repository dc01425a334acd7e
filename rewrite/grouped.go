package rewrite

import "github.com/slotsql/slotsql/rewrite/schema"

// A Group is the form of a statement that executions of it share while they overlap:
// one statement that does to the base row what all of them do, one after another.
//
// That is exact for executions outside of transactions that overlap in time: each has
// begun before the shared statement does, and none returns before that is committed, so
// that one after another, in the order of the group, is an order that the plain
// statements could have had. Each member's result is read off that order. Executions may
// share a statement when its SQL and its arguments are the same for all of them, but for
// those that are Total, Bound or Free, and what they add to each counter has one sign:
// all values between the first and the last then lie between these two, so that what the
// engine demands of the last (a range, no negative number, a CHECK of an interval) held for
// each.
//
// When the statement affects no row, or fails and leaves nothing, the group is split,
// down to single executions, so that each meets its own result.
type Group struct {
	Bound
	// SameSQL is the SQL without comments and with normalized white space. Executions that agree in
	// it may share a statement, that of any of them. It leaves out literals in which touches and compare and sets may
	// differ: of these it is the last one's.
	SameSQL SQL
	// One is the statement of a single member, where Bound demands more of the row than
	// the application's own SQL; nil where Bound is. When One affects no row, neither
	// would have the application's.
	One *Bound
	// Table is the table.
	Table *schema.Table
	// Many is the statement for several groups; nil where there is none.
	Many *ManyGroups
	// Shares are what an execution adds, in the order of the Total arguments.
	Shares []Share
	// Guards are the bounds that the statement's predicate puts on counters, in the
	// order of the Bound arguments.
	Guards []Guard
	// Returns says of each column of RETURNING which share's counter it is, from 1; 0
	// for a column that every member sees alike.
	Returns []int
	// Stars are the tables whose * Returns is about, as in Plan.
	Stars []*schema.Table
	// InsertID is the share, from 1, whose counter the session tells as its last insert
	// ID; 0 for none.
	InsertID int
	// Unchanged changes nothing of the row that the statement of a touch finds. It tells what a touch affects that sets what the row has
	// already, where the engine counts the rows that are changed unless the client asks for those that are found; else nil.
	Unchanged *Bound
	// CompareAndSet is what a compare and set has; nil for any other statement.
	CompareAndSet *CompareAndSet
	// Upsert is what an upsert has; nil for an UPDATE.
	Upsert *UpsertGroup
	// NotNumber are arguments compared with key columns that are not numbers, as in
	// Increment. An execution with a number there runs alone.
	NotNumber []Arg
	// Lease is how executions draw from numbers that their process has leased. See Tickets.
	Lease Lease
	// Inserted are the Free arguments, and what their columns take for certain. An execution
	// with another value runs alone: the engine might refuse it.
	Inserted []InsertedArg
}

// ManyGroups does what the statements of several groups do to their rows, all of it or nothing. Executions with the same
// ManyGroups may share it. Key says which row one is for.
type ManyGroups struct {
	Bound
	Key []KeyNumber
}

// A Lease is how many numbers a process leases at once.
type Lease struct {
	// Block is at most that many; 0 where each execution draws from the base row.
	Block int64
	// TryLock locks the row of a lease beside a transaction, for as long as the statement runs, and fails at
	// once where another transaction has it; nil where the lease itself does not wait for it.
	TryLock *Bound
}

// Touch reports whether an execution adds nothing: it only sets columns that the configuration says are touched.
func (g *Group) Touch() bool { return len(g.Shares) == 0 && g.CompareAndSet == nil }

// BeginsOtherwise reports whether a counter of a new row does not begin with what is added to it.
func (g *Group) BeginsOtherwise() bool {
	for i := range g.Shares {
		if g.Shares[i].First != nil {
			return true
		}
	}
	return false
}

// A Guard is a bound on a counter that each execution demands of the value that it
// meets. The group's statement has one bound in its place, which implies every member's:
// where the members before one add S to the counter, and it demands at least g, the
// group demands at least g - S, and so the largest of these; where it demands at most g,
// the smallest.
type Guard struct {
	Share   int // of Shares, from 0
	AtLeast bool
	// Literal or Arg is what an execution demands, in units of the counter's last digit.
	// Both are zero where the bound is an expression of the row, such as another
	// column: the argument then is subtracted from the counter.
	Literal Literal
	Arg     *Arg
	// Max is the largest magnitude that the bound may have.
	Max int64
}

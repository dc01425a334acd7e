package dialect

import (
	"context"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// A RollUpper writes the statements of the roll-up, which moves slots into base rows
// while increments go on. docs/design/rollup.md explains why they are exact.
type RollUpper interface {
	// RollUpSession returns what a new connection of the roll-up runs first.
	RollUpSession() []string
	// Draining returns what a connection that drains whole tables runs first, and what each of
	// its transactions does. None of its statements may wait for a lock for more than some
	// seconds, since increments wait behind it. An engine where this can be set per transaction
	// sets it there: behind a transaction pooler each transaction has another session, whose
	// settings others would inherit.
	Draining() (session, transaction []string)
	// LockSlots keeps all other sessions out of a slot table until the transaction ends
	// or, if tables are dropped outside transactions, until unlock.
	LockSlots(t *schema.Table) (lock, unlock []string)
	// RollUp writes the statements for a part of a slot table.
	RollUp(t *schema.Table, part RollUpPart) RollUp
}

// A WriterLocker is a RollUpper whose engine can keep writers out of a slot table with a
// single lock of the table, where a drain of all rows would otherwise have to lock every
// base row. The lock does not reach the other nodes of a cluster.
type WriterLocker interface {
	// LockWriters fails with a retryable error if a transaction has changed the slot table
	// or a statement that changes it is under way: at once where the engine can, or, with
	// wait, when it has waited for that a second or two, and new writers behind it.
	// Otherwise nothing is changed until unlock, and what is read meanwhile is all that
	// there is. Readers and base rows are not locked.
	LockWriters(t *schema.Table, wait bool) (lock, unlock []string)
}

// RollUpPart is a part of a slot table in the order of its key: the rows after one
// key, or those between two, both included. Find, Idle and Orphans return Limit keys.
//
// Pick takes Rows slot rows at most, where that is more than 0 and RollUp.Divisible.
type RollUpPart struct {
	After, Between bool
	Limit, Rows    int
}

// RollUp holds the statements of the roll-up for one part of a slot table. What is
// between Begin and Commit waits for no lock on a base or slot row.
type RollUp struct {
	Begin, Commit, Rollback []string

	// Find returns the keys whose slots hold anything: their values, in a form
	// that is an argument later on, and the number of such slot rows. Idle does
	// so for slot rows that hold nothing, Orphans for those without a base row.
	// Unordered reports whether a key cannot be an argument: the three have one row
	// then, without values, and the table is one part.
	Find, Idle, Orphans Step
	Unordered           bool
	// Divisible reports whether Pick may take a part of a row's slots and leave the
	// others for later: their values need not move together.
	Divisible bool
	// Probes reports whether a locked row that a batch steps over can make another session a
	// deadlock's victim. Then a batch of several keys looks at none.
	Probes bool
	// BytesAreText reports whether a value of a key which comes as bytes goes back as
	// a string.
	BytesAreText bool

	// Pick locks what Move moves, as far as no other session has it locked. Its one
	// row is the number of slot rows and what the steps of Move take.
	Pick Step
	Move []Step
	// Unmoved, where there is one, runs after the first step of Move or Keep. Each of
	// its rows is a reason why all is to be undone: a base row has not taken what
	// its slots hold. (A Move of one step fails by itself then.) It takes what Move
	// takes.
	Unmoved Step

	// Left, where there is one, counts after Move what should have moved along
	// and has not, because another session has it locked: more than 0 means that all is
	// to be undone. Keep is a Move that leaves it where it is.
	Left Step
	Keep []Step

	// Gather locks slot rows of a journal that Move has left behind, because their
	// base row is locked, with Rows as in Pick; its row is like that of Pick.
	// Merge puts those of each key together in one of them. They are empty where
	// no other session can have a base row locked.
	Gather Step
	Merge  []Step

	// Sweep deletes slot rows that hold nothing and that no session has locked.
	Sweep []Step
	// Reclaim deletes slot rows of the last key, if it has no base row.
	Reclaim []Step
}

// Step is one statement with its arguments.
type Step struct {
	SQL string
	// Args says which values it takes: of keys of n columns the first is 0 to n-1, the
	// last n to 2n-1, and what Pick has returned follows from 2n on.
	Args []int
}

// A Fencer is a Leaser whose leases can guard a transaction.
type Fencer interface {
	Leaser
	// Fence locks a lease until the transaction ends, so that no other holder takes
	// it before, and reports whether the holder has it.
	Fence(ctx context.Context, s Session, name, holder string) (bool, error)
	// Release ends the holder's lease.
	Release(ctx context.Context, s Session, name, holder string) error
}

package dialect

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A SlotNamer is a Dialect whose drains ask first which slot rows there are, and
// then name each of them. It is for an engine where a locking read locks more than
// the rows that it finds, so that a row without slots would block
// others.
//
// Once a drain has locked the base rows no session makes slot rows of them, so a session that
// sees what is committed then sees all there are. Rows are lists of the key's
// values, as strings, and of what tells the slot rows of a key apart.
type SlotNamer interface {
	// Nameable reports whether the slot rows of a table can be named. For a scope
	// with a predicate Lock then returns a row for each base row: 1, where it is
	// (a name of the server), the session's isolation level, the key.
	Nameable(t *schema.Table) bool

	// GapLocks reports whether FindSlots with lock locks what is around slot rows
	// at an isolation level. OpensSnapshot reports whether FindSlots without lock
	// locks nothing and sees all that has been committed before the transaction's
	// first such query.
	GapLocks(level string) bool
	OpensSnapshot(level string) bool

	// FindSlots writes a query for the slot rows of keys, or of the whole table
	// where keys is nil: the name of the server and the row, which is NULL where
	// there is none. It is "" when a key cannot be written.
	FindSlots(t *schema.Table, keys [][]any, lock bool) string

	// Observer are the statements by which another session reads what is committed:
	// those after connecting, and before each question, which also end what is left of the question before.
	Observer() (connected, begin []string)

	// HoldSlots writes a query that locks slot rows of a list which are still
	// there. It returns for each key of them: the key, their number, whether there
	// is no base row, and for each counter whether the rows add anything to it and
	// what the base value is to be.
	HoldSlots(t *schema.Table, rows [][]any) string
	// MoveSlots adds them to their base rows.
	MoveSlots(t *schema.Table, rows [][]any) string
	// RemoveSlots deletes those of keys whose base row is gone, or has become what
	// HoldSlots has said.
	RemoveSlots(t *schema.Table, rows, held [][]any) string
}

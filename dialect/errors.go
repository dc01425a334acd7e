package dialect

// An ErrorClassifier is a Dialect that knows what its parent driver's errors mean, so that neither
// slotsql nor the dialects import a driver. Without it no error is known: a failed increment of
// several callers is never retried one by one, and plans made with outdated facts fail until the
// facts are read again for another reason.
type ErrorClassifier interface {
	// Classify returns what err means: nothing if it is nil or unknown. Wrapped errors count as well.
	Classify(err error) ErrorClass
}

// ErrorClass is a set of things that an error may mean.
type ErrorClass uint16

const (
	// NotApplied is the server's response that a statement in autocommit failed, so that it has had
	// no effect.
	NotApplied ErrorClass = 1 << iota
	// Conflict means that the engine has rolled back the whole transaction, or a single statement,
	// because of other transactions, so that the same statement may succeed when it runs again.
	Conflict
	// TxEnded means that the whole transaction was rolled back.
	TxEnded
	// LockTimeout means that the time ran out that the server allows a statement, or allows it to wait
	// for a lock.
	LockTimeout
	// Cancelled means that another session has cancelled the statement, where the engine reports that
	// as it does a LockTimeout.
	Cancelled
	// Retryable means that one of slotsql's own transactions may succeed when it runs again: after a
	// conflict, a serialization failure or a lock timeout.
	Retryable
	// SchemaChanged means that a table or column may have changed or no longer exist.
	SchemaChanged
	// SlotFull comes from the slot table's own CHECK constraint, for an increment that has had no
	// effect.
	SlotFull
	// Unreferenced is the error of a row whose foreign key refers to a row that does not exist. An
	// increment in a slot fails so after another client has put another table in the counter table's
	// place: the slot table goes on referring to the one before.
	Unreferenced
	// Refuted is the error by which rewrite.Proof, or the form of one that is confirmed, fails if a row
	// has slots. The statement itself may fail in the same way; it then runs after a drain.
	Refuted
	// SavepointGone means that a savepoint to be rolled back to or released does not exist: the engine
	// has rolled back a drain's own transaction.
	SavepointGone
	// TooManyPrepared means that a statement was not prepared because of a limit on how many all
	// sessions together have prepared.
	TooManyPrepared
	// ReadOnly means that a write was refused because its transaction, its session, the server or the
	// database is read-only.
	ReadOnly
)

// Has reports whether an error means any of some things.
func (c ErrorClass) Has(any ErrorClass) bool { return c&any != 0 }

// A FoldErrorClassifier is a Dialect whose statements that move slots fail by themselves
// if a base row does not accept what the slots hold.
type FoldErrorClassifier interface {
	// Unmoved reports whether err is that failure, and why the row does not accept it.
	Unmoved(err error) (reason string, ok bool)
}

package dialect

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// A ReadOnlyDetector recognises the error of a write where writing is not allowed.
type ReadOnlyDetector interface {
	// ReadOnly reports whether a write was refused because its transaction, its
	// session or the database is read-only.
	ReadOnly(err error) bool
}

// A ReadOnlyAsker is for an engine whose parent may close the connection on which a write was
// refused (rejectReadOnly of go-sql-driver/mysql), so that slotsql asks before it writes for itself.
type ReadOnlyAsker interface {
	// AsksReadOnly reports whether the server, or the session, accepts no writes.
	AsksReadOnly(ctx context.Context, s Session) (bool, error)
}

// A ReadOnlyErrorClassifier is for an engine where a transaction that may not write may
// lock rows in share mode. The error of ReadOnly leaves the transaction as it was.
type ReadOnlyErrorClassifier interface {
	ReadOnlyDetector
	// ErrReadOnly is that error.
	ErrReadOnly() error
	// LocksGaps reports whether the transactions of a session keep others, by a
	// locking read, from inserting what it would find.
	LocksGaps(ctx context.Context, s Session) (bool, error)
	// NextRepeatableRead writes the statement that makes the next transaction REPEATABLE
	// READ.
	NextRepeatableRead() string
	// ChangeNothing writes a statement that is refused in a READ ONLY transaction, and
	// otherwise neither changes nor locks a row.
	ChangeNothing(t *rewrite.Table) string
	// ServerReadOnly reports whether a write was refused because the server accepts none,
	// for example because it is a replica.
	ServerReadOnly(err error) bool
}

// A ReadOnlyReader is for an engine with transactions that see one snapshot of the
// database: if that shows no slots, base values are totals.
type ReadOnlyReader interface {
	ReadOnlyDetector
	// ReadTx writes a transaction of slotsql's own whose queries see one snapshot.
	ReadTx() DrainTx
	// MayLift reports whether the session is read-only by its own setting, which Lift
	// suspends in one of slotsql's own transactions until Lower restores it. Lower also
	// runs after a failure.
	MayLift(ctx context.Context, s Session) (bool, error)
	Lift() []string
	Lower() []string
}

// A ReadOnlyWatcher is for an engine where an error aborts the transaction, so that
// slotsql has to know beforehand whether a transaction may write.
type ReadOnlyWatcher interface {
	// ConnReadOnly reports whether transactions of the connection may be READ ONLY
	// without a statement that requests it.
	ConnReadOnly(driver.Conn) bool
	// ReadOnlyQuery asks whether the open transaction is: "on". It takes no snapshot.
	ReadOnlyQuery() string
	// ErrReadOnly is the server's error for a write in such a transaction.
	ErrReadOnly() error
	// AppliedQuery asks a replica how far it has applied what its primary has
	// written. A server that is none answers with an empty string.
	AppliedQuery() string
	// LockPatience returns a query of how long the session's statements wait for
	// locks, "0" for ever, and one that sets it until the transaction ends.
	LockPatience() (ask, set string)
}

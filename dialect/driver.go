package dialect

import (
	"context"
	"database/sql/driver"
)

// The interfaces in this file are for a dialect that knows its parent driver:
// those of the packages mysql, postgres and sqlite, or one of your own around
// them. They are how slotsql learns what an error of that driver means, so that
// neither it nor the dialects import a driver. Each is optional; without one
// slotsql takes the careful way, as its method says.

// An ErrorClassifier interprets the parent driver's errors. Each method reports false for
// an error that it does not know. Wrapped errors count as well.
type ErrorClassifier interface {
	// SchemaChanged reports whether err may mean that a table or column has changed or no
	// longer exists. Without it, plans made with outdated facts fail until the facts are
	// read again for another reason.
	SchemaChanged(err error) bool
	// SlotFull reports whether err comes from the slot table's own CHECK constraint, for
	// an increment that has had no effect.
	SlotFull(err error) bool
	// NotApplied reports whether err is the server's response that a statement in
	// autocommit failed, so that it has had no effect. Without it, a failed increment of
	// several callers is never retried one by one.
	NotApplied(err error) bool
	// Conflict reports whether the engine has rolled back the whole transaction, or a
	// single statement, because of other transactions, so that the same statement may
	// succeed when it runs again.
	Conflict(err error) bool
	// LockTimeout reports whether the time ran out that the server allows a statement, or
	// allows it to wait for a lock.
	LockTimeout(err error) bool
	// Retryable reports whether one of slotsql's own transactions may succeed when it
	// runs again: after a conflict, a serialization failure or a lock timeout.
	Retryable(err error) bool
}

// A ReferenceErrorClassifier is a Dialect that knows the error of a row whose foreign key refers to a
// row that is not there. An increment in a slot fails so after another client has put another table
// in the counter table's place: the slot table goes on referring to the one before. Without it the
// error is the caller's until the change has been noticed.
type ReferenceErrorClassifier interface {
	// Unreferenced reports whether err is that error.
	Unreferenced(err error) bool
}

// A FoldErrorClassifier is a Dialect whose statements that move slots fail by themselves
// if a base row does not accept what the slots hold.
type FoldErrorClassifier interface {
	// Unmoved reports whether err is that failure, and why the row does not accept it.
	Unmoved(err error) (reason string, ok bool)
}

// A ProofErrorClassifier is a Dialect whose rewrite.Proof, or the form of one that is confirmed, fails with an error if a row
// has slots.
type ProofErrorClassifier interface {
	// Refuted reports whether err may be that failure. The statement itself may fail in
	// the same way; it then runs after a drain.
	Refuted(err error) bool
}

// A Pipeliner is a Dialect whose parent sends several statements in one round trip. Each
// begins when the previous one has ended, with its own snapshot if the isolation level
// provides that. Outside transactions they form one transaction.
type Pipeliner interface {
	// Pipeline runs the statements. It returns the error of the first one that fails;
	// those after it do not run. A connection that cannot do this returns driver.ErrSkip.
	Pipeline(ctx context.Context, c driver.Conn, list []Statement) ([]Outcome, error)
	// PipelineOnce is Pipeline for statements of slotsql's own that are rarely sent: nothing is
	// prepared, not even ahead of the first one, so a statement that changes settings holds for
	// those after it. Values are text, int64 or bool.
	PipelineOnce(ctx context.Context, c driver.Conn, list []Statement) ([]Outcome, error)
	// Decodes reports whether Outcome has values of a type, named as in the parent's
	// ColumnTypeDatabaseTypeName, in the same form as the parent's own rows.
	Decodes(typeName string) bool
}

// Statement is one statement of a pipeline.
type Statement struct {
	SQL  string
	Args []driver.NamedValue
}

// Outcome is the result of one statement of a pipeline.
type Outcome struct {
	Affected int64
	Columns  []string
	Rows     [][]driver.Value
}

// A SavepointErrorClassifier is for an engine some of whose errors roll back a drain's
// own transaction.
type SavepointErrorClassifier interface {
	// SavepointGone reports whether err means that a savepoint to be rolled
	// back to or released does not exist.
	SavepointGone(err error) bool
}

// A CancelErrorClassifier is for an engine that reports a statement which another session has
// cancelled as it does one whose time has run out.
type CancelErrorClassifier interface {
	// Cancelled reports whether err means that another session has cancelled the statement.
	Cancelled(err error) bool
}

// A PrepareErrorClassifier is for an engine that limits how many statements all sessions together
// have prepared.
type PrepareErrorClassifier interface {
	// TooManyPrepared reports whether a statement was not prepared because of that limit.
	TooManyPrepared(err error) bool
}

// A TxErrorClassifier is for an engine some of whose errors roll back the whole
// transaction, while others leave it open.
type TxErrorClassifier interface {
	// TxEnded reports whether the transaction was rolled back with err.
	TxEnded(err error) bool
}

// A TxGuard is for an engine that may roll back a transaction without reporting it.
type TxGuard interface {
	// TxOpen reports whether a transaction is open; an engine that cannot tell
	// reports false.
	TxOpen(ctx context.Context, s Session) (bool, error)
	// TxUndone returns the error that the engine should have reported.
	TxUndone() error
}

// A TxWatcher learns from the parent driver whether a connection is in a transaction.
// Without it, slotsql asks the server when it needs to know.
type TxWatcher interface {
	ConnInTransaction(driver.Conn) bool
}

// A SelectiveTxWatcher is a TxWatcher that may not know a connection, because a wrapper
// around the parent driver hides the parent's. For such a connection slotsql asks the
// server.
type SelectiveTxWatcher interface {
	TxWatcher
	// Watches reports whether ConnInTransaction knows the connection.
	Watches(driver.Conn) bool
}

// A BusyWatcher is a TxWatcher whose parent refuses a statement while the rows of a query are open on
// the connection. slotsql then hands the statement to the parent as it is.
type BusyWatcher interface {
	ConnBusy(driver.Conn) bool
}

// An ArgRewriter separates arguments that are options of the parent driver, and
// resolves arguments that rewrite the query.
type ArgRewriter interface {
	RewriteArgs(ctx context.Context, c driver.Conn, query string, args []driver.NamedValue) (
		newQuery string, values, options []driver.NamedValue, err error)
}

// SnapshotIsolation is for an engine with isolation levels at which a change of a row
// newer than the transaction's snapshot fails.
type SnapshotIsolation interface {
	// IsolationQuery returns a query for the isolation level of the open transaction.
	IsolationQuery() string
	// Conflicts reports whether changes fail in this way at the level that the query has
	// returned.
	Conflicts(level string) bool
}

// SelectiveSnapshots is for an engine of which only some servers have such levels. The query
// returns the session's level there: BeginTx may have begun a transaction at another one, at
// which it stays.
type SelectiveSnapshots interface {
	// Snapshots returns nil for a server without such levels.
	Snapshots() SnapshotIsolation
}

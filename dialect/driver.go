package dialect

import (
	"context"
	"database/sql/driver"
)

// The interfaces in this file are for a dialect that knows its parent driver:
// those of the packages mysql, postgres and sqlite, or one of your own around
// them. Each is optional; without one slotsql takes the careful way, as its method says.

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
// the connection. slotsql then hands the statement to the parent as it is. Such a parent may return
// driver.ErrBadConn for a statement that it has sent, unless the connection was closed before.
type BusyWatcher interface {
	ConnState(driver.Conn) (busy, closed bool)
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

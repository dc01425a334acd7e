package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

// The interfaces below may be implemented by a dialect that knows its parent
// driver; the packages mysql, postgres and sqlite do. They are asked for
// instead of imported, so that this package needs no driver.
type (
	// errorJudge reads the parent's error types.
	errorJudge interface {
		// SchemaChanged says that err may mean that a table or column has
		// changed or gone.
		SchemaChanged(err error) bool
		// SlotFull says that err is the slot table's own CHECK constraint,
		// raised by an increment of which nothing is left.
		SlotFull(err error) bool
	}
	// outcomeJudge knows from an error what has become of a statement that
	// ran in autocommit.
	outcomeJudge interface {
		// NotApplied says that the server has answered that the statement
		// failed, so that nothing of it is left.
		NotApplied(err error) bool
		// Conflict says that the engine has rolled back the whole transaction,
		// or the one statement of it, since others were in its way, and that
		// the same may succeed when it is run again.
		Conflict(err error) bool
		// WaitedInVain says that a lock was not to be had in the time that
		// the server gives a statement.
		WaitedInVain(err error) bool
	}
	// hindranceJudge is outcomeJudge for a whole transaction of slotsql's own.
	hindranceJudge interface {
		// Hindered says that others were in the way of the transaction, and
		// that it may succeed when it is run again: a conflict, a serialization
		// failure, a lock that was not to be had in time.
		Hindered(err error) bool
	}
	// savepointJudge is for an engine whose errors may roll back a drain's
	// own transaction by themselves.
	savepointJudge interface {
		// SavepointGone says that err reports that a savepoint to be rolled
		// back to or released does not exist.
		SavepointGone(err error) bool
	}
	// txJudge is for an engine some of whose errors roll back the whole
	// transaction by themselves, while others leave it as it is.
	txJudge interface {
		// TxEnded says that err reports that nothing is left of the
		// transaction.
		TxEnded(err error) bool
	}
	// txGuard is for an engine that may roll back a transaction and not say
	// so.
	txGuard interface {
		// TxOpen says whether a transaction is open; an engine that cannot
		// tell says that none is.
		TxOpen(ctx context.Context, s dialect.Session) (bool, error)
		// TxUndone is the error that the engine should have given.
		TxUndone() error
	}
	// txWatcher knows from the parent whether a connection is in a
	// transaction.
	txWatcher interface {
		ConnInTransaction(driver.Conn) bool
	}
	// argRewriter separates arguments that are options of the parent driver,
	// and resolves arguments that rewrite the query.
	argRewriter interface {
		RewriteArgs(ctx context.Context, c driver.Conn, query string, args []driver.NamedValue) (newQuery string, values, options []driver.NamedValue, err error)
	}
)

// engine is a dialect with its optional knowledge of the parent.
type engine struct {
	dialect dialect.Dialect
	judge   errorJudge
	outcome outcomeJudge
	watcher txWatcher
	args    argRewriter

	snapshots snapshotJudge
}

func engineOf(d dialect.Dialect) engine {
	e := engine{dialect: d}
	e.judge, _ = d.(errorJudge)
	e.outcome, _ = d.(outcomeJudge)
	e.watcher, _ = d.(txWatcher)
	e.args, _ = d.(argRewriter)
	e.snapshots, _ = d.(snapshotJudge)
	return e
}

func (e *engine) schemaChanged(err error) bool { return e.judge != nil && e.judge.SchemaChanged(err) }
func (e *engine) slotFull(err error) bool      { return e.judge != nil && e.judge.SlotFull(err) }

func (e *engine) notApplied(err error) bool { return e.outcome != nil && e.outcome.NotApplied(err) }

func (e *engine) conflict(err error) bool { return e.outcome != nil && e.outcome.Conflict(err) }

func (e *engine) waitedInVain(err error) bool {
	return e.outcome != nil && e.outcome.WaitedInVain(err)
}

func (e *engine) savepointGone(err error) bool {
	j, ok := e.dialect.(savepointJudge)
	return ok && j.SavepointGone(err)
}

func (e *engine) hindered(err error) bool {
	j, ok := e.dialect.(hindranceJudge)
	return ok && j.Hindered(err)
}

func (e *engine) txEnded(err error) bool {
	j, ok := e.dialect.(txJudge)
	return ok && j.TxEnded(err)
}

func (e *engine) rewriteArgs(ctx context.Context, c driver.Conn, query string, args []driver.NamedValue) (string, []driver.NamedValue, []driver.NamedValue, error) {
	if e.args == nil || len(args) == 0 {
		return query, args, nil, nil
	}
	return e.args.RewriteArgs(ctx, c, query, args)
}

package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

// engine is a dialect with its optional knowledge of the parent.
type engine struct {
	dialect dialect.Dialect
	errors  dialect.ErrorClassifier
	watcher dialect.TxWatcher
	args    dialect.ArgRewriter

	snapshots dialect.SnapshotIsolation
}

func engineOf(d dialect.Dialect) engine {
	e := engine{dialect: d}
	e.errors, _ = d.(dialect.ErrorClassifier)
	e.watcher, _ = d.(dialect.TxWatcher)
	e.args, _ = d.(dialect.ArgRewriter)
	e.snapshots, _ = d.(dialect.SnapshotIsolation)
	return e
}

func (e *engine) schemaChanged(err error) bool { return e.errors != nil && e.errors.SchemaChanged(err) }

func (e *engine) slotFull(err error) bool { return e.errors != nil && e.errors.SlotFull(err) }

func (e *engine) notApplied(err error) bool { return e.errors != nil && e.errors.NotApplied(err) }

func (e *engine) conflict(err error) bool { return e.errors != nil && e.errors.Conflict(err) }

func (e *engine) lockTimeout(err error) bool { return e.errors != nil && e.errors.LockTimeout(err) }

func (e *engine) retryable(err error) bool { return e.errors != nil && e.errors.Retryable(err) }

func (e *engine) savepointGone(err error) bool {
	c, ok := e.dialect.(dialect.SavepointErrorClassifier)
	return ok && c.SavepointGone(err)
}

func (e *engine) unmoved(err error) (reason string, ok bool) {
	c, ok := e.dialect.(dialect.FoldErrorClassifier)
	if !ok {
		return "", false
	}
	return c.Unmoved(err)
}

func (e *engine) txEnded(err error) bool {
	c, ok := e.dialect.(dialect.TxErrorClassifier)
	return ok && c.TxEnded(err)
}

func (e *engine) rewriteArgs(
	ctx context.Context, c driver.Conn, query string, args []driver.NamedValue,
) (string, []driver.NamedValue, []driver.NamedValue, error) {
	if e.args == nil || len(args) == 0 {
		return query, args, nil, nil
	}
	return e.args.RewriteArgs(ctx, c, query, args)
}

package link

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Engine is a dialect, with its optional interfaces.
type Engine struct {
	dialect dialect.Dialect
	errors  dialect.ErrorClassifier
	Watcher dialect.TxWatcher
	Args    dialect.ArgRewriter // nil if the parent's arguments are all the statement's
	limits  dialect.LimitLifter
	busy    dialect.BusyWatcher

	limitsPrepared bool // as rewrite.SessionRules has it

	Snapshots dialect.SnapshotIsolation // nil if no level checks changes against a snapshot
	// SessionLevel reports whether Snapshots returns the level of the session, which may differ
	// from that of the open transaction.
	SessionLevel bool
	Pipeliner    dialect.Pipeliner // nil if there is none
}

// EngineOf finds out which optional interfaces a dialect has.
func EngineOf(d dialect.Dialect) Engine {
	e := Engine{dialect: d}
	e.errors, _ = d.(dialect.ErrorClassifier)
	e.Watcher, _ = d.(dialect.TxWatcher)
	e.Args, _ = d.(dialect.ArgRewriter)
	e.limits, _ = d.(dialect.LimitLifter)
	e.busy, _ = d.(dialect.BusyWatcher)
	e.limitsPrepared = d.Traits().LimitsPrepared
	e.Snapshots, _ = d.(dialect.SnapshotIsolation)
	if s, ok := d.(dialect.SelectiveSnapshots); ok {
		e.Snapshots, e.SessionLevel = s.Snapshots(), true
	}
	e.Pipeliner, _ = d.(dialect.Pipeliner)
	return e
}

// means reports whether err means any of some things.
func (e *Engine) means(err error, any dialect.ErrorClass) bool {
	return err != nil && e.errors != nil && e.errors.Classify(err).Has(any)
}

// SchemaChanged reports whether err may mean that facts of the schema no longer hold.
func (e *Engine) SchemaChanged(err error) bool { return e.means(err, dialect.SchemaChanged) }

// SlotFull reports whether err means that a column cannot hold the result of an addition, or that a
// slot row cannot be created because of the slot table's foreign key.
func (e *Engine) SlotFull(err error) bool {
	return e.means(err, dialect.SlotFull|dialect.Unreferenced)
}

// Unreferenced reports whether err means that a row refers to one that is not there.
func (e *Engine) Unreferenced(err error) bool { return e.means(err, dialect.Unreferenced) }

// NotApplied reports whether err means that nothing of the statement is left.
func (e *Engine) NotApplied(err error) bool { return e.means(err, dialect.NotApplied) }

// Conflict reports whether err means that the engine has rolled back everything because of a
// conflict with other sessions.
func (e *Engine) Conflict(err error) bool { return e.means(err, dialect.Conflict) }

// LockTimeout reports whether err means that a lock was not granted in time.
func (e *Engine) LockTimeout(err error) bool { return e.means(err, dialect.LockTimeout) }

// TimedOut reports whether err means that the time for a lock or for the statement has run out, and so for each that
// has waited as long. That another session has cancelled the statement is LockTimeout, too, but concerns one session.
func (e *Engine) TimedOut(err error) bool {
	return e.LockTimeout(err) && !e.means(err, dialect.Cancelled)
}

// Retryable reports whether the same statement may succeed if it runs once more.
func (e *Engine) Retryable(err error) bool { return e.means(err, dialect.Retryable) }

// ReadOnly reports whether err means that nothing may be written here.
func (e *Engine) ReadOnly(err error) bool { return e.means(err, dialect.ReadOnly) }

// Proves reports whether the parent can run the form of a statement that proves that a row has no
// slots, and whether its errors can be told from others.
func (e *Engine) Proves(p *rewrite.Proof) bool {
	switch {
	case p == nil:
		return false
	case p.Lock != nil, p.Confirm != nil:
		return e.Pipeliner != nil
	}
	return e.errors != nil
}

// Refuted reports whether err may mean that a row has slots.
func (e *Engine) Refuted(err error) bool { return e.means(err, dialect.Refuted) }

func (e *Engine) savepointGone(err error) bool { return e.means(err, dialect.SavepointGone) }

func (e *Engine) unmoved(err error) (reason string, ok bool) {
	c, ok := e.dialect.(dialect.FoldErrorClassifier)
	if !ok {
		return "", false
	}
	return c.Unmoved(err)
}

// TxEnded reports whether err means that nothing is left of the transaction.
func (e *Engine) TxEnded(err error) bool { return e.means(err, dialect.TxEnded) }

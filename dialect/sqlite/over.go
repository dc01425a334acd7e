package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ dialect.Dialect                  = Over{}
	_ dialect.ErrorClassifier          = Over{}
	_ dialect.SavepointErrorClassifier = Over{}
	_ dialect.ProofErrorClassifier     = Over{}
	_ dialect.ReadOnlyReader           = Over{}
)

// Over is the dialect over a parent driver whose errors it reads with Fault: SQLite's result code, extended or not,
// and its message. For mattn/go-sqlite3:
//
//	func fault(err error) (code int, message string, ok bool) {
//		var e sqlite3.Error
//		if ok = errors.As(err, &e); ok {
//			code, message = int(e.Code), e.Error()
//		}
//		return code, message, ok
//	}
//
//	slotsql.Register("sqlite3-slotsql", &sqlite3.SQLiteDriver{}, sqlite.Over{Dialect: sqlite.New(), Fault: fault, Arguments: sqlite.InTurn}, nil)
type Over struct {
	*Dialect
	Fault func(error) (code int, message string, ok bool)
	// Arguments says how the parent binds the arguments of a call of several statements.
	Arguments Arguments
	// Eager is for a parent that runs a query to its first row before it returns, as modernc.org/sqlite does.
	// Without it slotsql reads the first row of a rewritten query at once, for the error that a table has changed.
	Eager bool
}

// Arguments are those of a call of several statements.
type Arguments int

const (
	// FromFirst means that each statement takes its arguments from the first one on, as over modernc.org/sqlite
	// and glebarez/go-sqlite.
	FromFirst Arguments = iota
	// InTurn means that each statement takes those that the statements before it have left, as over mattn/go-sqlite3.
	InTurn
	// OfOne means that only a call of one statement has arguments, as over ncruces/go-sqlite3.
	OfOne
)

// Traits implements rewrite.Dialect.
func (o Over) Traits() rewrite.Traits {
	t := o.Dialect.Traits()
	t.LateErrors = !o.Eager
	switch o.Arguments {
	case InTurn:
		t.ArgsRestart = false
		t.SlowParse = false // that parent's Exec of a statement kept prepared leaves a RETURNING open, and the database locked
	case OfOne:
		t.MultiProbe, t.MultiProbeArg = "SELECT 1", "SELECT ?; SELECT 1" // the parent's own error
	}
	return t
}

// SQLite's primary result codes.
const (
	codeError    = 1
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
)

// code returns the primary result code.
func (o Over) code(err error) (code int, message string) {
	code, message, _ = o.Fault(err)
	return code & 0xff, message
}

// SchemaChanged recognises missing tables and columns. SQLite has one code,
// SQLITE_ERROR, for them and for every mistake in a statement.
func (o Over) SchemaChanged(err error) bool {
	code, message := o.code(err)
	return code == codeError && (strings.Contains(message, "no such") || strings.Contains(message, "has no column") ||
		strings.Contains(message, "sub-select returns"))
}

// NotApplied recognises SQLite's own errors. In autocommit each of them means
// that the statement has been undone.
func (o Over) NotApplied(err error) bool {
	_, _, ok := o.Fault(err)
	return ok
}

// Conflict is never: SQLite's one writer waits, and has waited when it fails.
func (Over) Conflict(error) bool { return false }

// LockTimeout recognises the end of busy_timeout.
func (o Over) LockTimeout(err error) bool {
	code, _ := o.code(err)
	return code == codeBusy
}

// Retryable recognises a database that another connection is writing.
func (o Over) Retryable(err error) bool {
	code, _ := o.code(err)
	return code == codeBusy || code == codeLocked
}

// SavepointGone recognises a savepoint that is not there: some errors, an
// interrupted write among them, roll back everything.
func (o Over) SavepointGone(err error) bool {
	code, message := o.code(err)
	return code == codeError && strings.Contains(message, "no such savepoint")
}

// Refuted recognises what abs() says of the smallest integer.
func (o Over) Refuted(err error) bool {
	code, message := o.code(err)
	return code == codeError && strings.Contains(message, "integer overflow")
}

// SlotFull is always false: the upsert affects no row instead.
func (Over) SlotFull(error) bool { return false }

// ReadOnly recognises SQLITE_READONLY.
func (o Over) ReadOnly(err error) bool {
	code, _ := o.code(err)
	return code == codeReadOnly
}

package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ dialect.Dialect         = Over{}
	_ dialect.ErrorClassifier = Over{}
	_ dialect.ReadOnlyReader  = Over{}
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

// Classify goes by the primary result code, and by the message where one code has several meanings:
// SQLITE_ERROR is every mistake in a statement. Nothing is a conflict, since the one writer waits, and has
// waited when it fails. A full slot is no error: the upsert affects no row.
func (o Over) Classify(err error) (c dialect.ErrorClass) {
	code, message, ok := o.Fault(err)
	if !ok {
		return 0
	}
	c = dialect.NotApplied // in autocommit the statement has been undone
	says := func(words string) bool { return strings.Contains(message, words) }
	switch code & 0xff {
	case codeBusy: // the end of busy_timeout
		c |= dialect.LockTimeout | dialect.Retryable
	case codeLocked:
		c |= dialect.Retryable
	case codeReadOnly:
		c |= dialect.ReadOnly
	case codeError:
		if says("no such") || says("has no column") || says("sub-select returns") {
			c |= dialect.SchemaChanged
		}
		if says("no such savepoint") { // some errors, an interrupted write among them, roll back everything
			c |= dialect.SavepointGone
		}
		if says("integer overflow") { // of abs() for the smallest integer
			c |= dialect.Refuted
		}
	}
	return c
}

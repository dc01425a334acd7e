package postgres

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var (
	_ dialect.Dialect             = Over{}
	_ dialect.ErrorClassifier     = Over{}
	_ dialect.FoldErrorClassifier = Over{}
	_ dialect.ReadOnlyReader      = Over{}
	_ dialect.ReadOnlyWatcher     = Over{}
)

// Fault is an error of the server, by the fields of its message.
type Fault struct {
	Severity string // ERROR, FATAL or PANIC, or that in the server's language
	Code     string // SQLSTATE
	Message  string
	Routine  string
}

// Error implements error, for a parent driver of which no errors can be made.
func (f Fault) Error() string { return f.Severity + ": " + f.Message + " (SQLSTATE " + f.Code + ")" }

// SQLState returns the code, as the errors of drivers do.
func (f Fault) SQLState() string { return f.Code }

// Over is the dialect over a parent driver whose errors it reads with Fault. For lib/pq:
//
//	func fault(err error) (f postgres.Fault, ok bool) {
//		var e *pq.Error
//		if ok = errors.As(err, &e); ok {
//			f = postgres.Fault{Severity: e.Severity, Code: string(e.Code), Message: e.Message, Routine: e.Routine}
//		}
//		return f, ok
//	}
//
//	slotsql.Register("postgres-slotsql", &pq.Driver{}, postgres.Over{Dialect: postgres.New(), Fault: fault}, nil)
//
// Whether a session is in a transaction is then asked of the server where it matters. A dialect that
// can tell it of the parent's connection embeds Over and adds dialect.TxWatcher.
type Over struct {
	*Dialect
	Fault func(error) (f Fault, ok bool)
}

// InTransaction is that of the Dialect, for errors that Fault reads.
func (o Over) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	return inTransaction(ctx, s, func(err error) (string, bool) {
		f, ok := o.Fault(err)
		return f.Code, ok
	})
}

// Classify goes by the code of the server's error, and by its other fields where one code has several
// meanings. A serialization failure (40001) is no conflict: at the levels that have it the plain statement
// gets it too, and the application is ready for it. A full slot is no error: the upsert affects no row.
func (o Over) Classify(err error) (c dialect.ErrorClass) {
	f, ok := o.Fault(err)
	if !ok {
		return 0
	}
	if f.conflict() {
		c |= dialect.Conflict | dialect.Retryable
	}
	if f.notApplied() {
		c |= dialect.NotApplied
	}
	switch f.Code {
	case "40001":
		c |= dialect.Retryable
	case "55P03": // lock_timeout, and NOWAIT
		c |= dialect.LockTimeout | dialect.Retryable
	case "57014": // statement_timeout, or pg_cancel_backend, by the words of its message, where they are in English
		c |= dialect.LockTimeout
		if strings.Contains(f.Message, "user request") {
			c |= dialect.Cancelled
		}
	case "42P01", "42703", "42P10", "0A000", "42804": // undefined tables and columns, prepared statements whose result type has changed
		c |= dialect.SchemaChanged
	case "42601":
		if f.Routine == "transformSubLink" { // other columns than the statement expects
			c |= dialect.SchemaChanged
		}
	case "23503":
		c |= dialect.Unreferenced
	case "25006": // a READ ONLY transaction, and a standby
		c |= dialect.ReadOnly
	}
	if f.refutes() {
		c |= dialect.Refuted
	}
	return c
}

// Unmoved recognises the errors that a fold raises on purpose (conserve.go), and those of row security
// and of rewrite rules for UPDATE.
func (o Over) Unmoved(err error) (reason string, ok bool) {
	f, _ := o.Fault(err)
	switch {
	case f.Code == "22P02":
		return Refusal(f.Message)
	case f.Code == "42501" && f.Routine == "check_enable_rls":
		return HiddenRows, true
	case f.Code == "0A000" && f.Routine == "RewriteQuery":
		return NotUpdated, true
	}
	return "", false
}

// refutes recognises the errors that a statement may raise because it found a base value in place of the total: of data, of a
// constraint or of a policy, or because it locks where nothing may be written. The conversion to a number by which
// rewrite.Proof.Confirm fails is one of data.
func (f Fault) refutes() bool {
	switch f.Code[:min(2, len(f.Code))] {
	case "22", "23", "44":
		return true
	}
	return f.Code == "42501" || f.Code == "25006"
}

// notApplied recognises the server's answers. One that ends the session may
// come after the commit. Where lc_messages has the severity in another language, and the
// driver has no other, as lib/pq, it goes by the code.
func (f Fault) notApplied() bool {
	switch f.Severity {
	case "FATAL", "PANIC":
		return false
	case "ERROR":
		return true
	}
	return f.conflict() || !f.mayEnd() // a word in another language
}

// mayEnd reports whether the server may end the session with the code: those of resources, files and
// internal errors come as ERROR, FATAL and PANIC. A code that the server does not know is one that a
// trigger has raised, which is an ERROR.
func (f Fault) mayEnd() bool {
	switch f.Code {
	case "57014": // query_canceled
		return false
	case "25P03", "25P04", "40003", "": // timeouts that end the session; an outcome that is not known
		return true
	}
	if strings.Contains(strings.ToLower(f.Routine), "xlog") {
		return true // a log that cannot be written is a PANIC, with the code of the file's error
	}
	switch f.Code[:min(2, len(f.Code))] {
	case "08", "28", "3D", "53", "57", "58", "F0", "XX":
		return true
	}
	return false
}

// conflict recognises a deadlock's victim (40P01). A plain statement that changes one row waits for that row
// only, and cannot deadlock by itself; locking the slot row as well makes it possible. A plain statement of
// many rows can, and runs again as if it had come later.
//
// An internal error (XX000) counts too, which a server (15.18) gives to an UPDATE that waits while
// another UPDATE of its row is rolled back and a third transaction keeps a key lock of the row, as
// each insert of a slot does: the transaction is marked as aborted, but still listed as running, when
// MultiXactIdExpand looks at it.
func (f Fault) conflict() bool {
	return f.Code == "40P01" || f.Code == "XX000" && f.Routine == "MultiXactIdCreateFromMembers"
}

// ConnReadOnly is true: the server has to be asked.
func (Over) ConnReadOnly(driver.Conn) bool { return true }

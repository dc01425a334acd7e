// Package sqlite registers the driver "sqlite3-slotsql", which wraps
// modernc.org/sqlite:
//
//	import _ "github.com/slotsql/slotsql/sqlite"
//
//	db, err := sql.Open("sqlite3-slotsql", "file:app.db?_pragma=journal_mode(WAL)")
//
// The DSN is modernc's. The configuration is looked for as slotsql.FindConfig
// says.
package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect"
	dialect "github.com/slotsql/slotsql/dialect/sqlite"
)

var (
	_ slotdialect.Dialect                  = Engine{}
	_ slotdialect.ErrorClassifier          = Engine{}
	_ slotdialect.SavepointErrorClassifier = Engine{}
	_ slotdialect.ReadOnlyReader           = Engine{}
)

// DriverName is the name the driver is registered under.
const DriverName = "sqlite3-slotsql"

func init() { slotsql.Register(DriverName, parent(), Dialect(), nil) }

// parent returns the driver that modernc has registered: functions and hooks
// that a program adds through that package are its own.
func parent() driver.Driver {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return &sqlite.Driver{}
	}
	defer db.Close()
	return db.Driver()
}

// Engine is the SQLite dialect with knowledge of modernc's errors.
type Engine struct{ *dialect.Dialect }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with modernc.org/sqlite as the parent.
func Dialect() Engine { return Engine{dialect.New()} }

// SchemaChanged recognises missing tables and columns. SQLite has one code,
// SQLITE_ERROR, for them and for every mistake in a text.
func (Engine) SchemaChanged(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 1 &&
		(strings.Contains(e.Error(), "no such") || strings.Contains(e.Error(), "has no column") ||
			strings.Contains(e.Error(), "sub-select returns"))
}

// NotApplied recognises SQLite's own errors. In autocommit each of them means
// that the statement has been undone.
func (Engine) NotApplied(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e)
}

// Conflict is never: SQLite's one writer waits, and has waited when it fails.
func (Engine) Conflict(error) bool { return false }

// LockTimeout recognises the end of busy_timeout.
func (Engine) LockTimeout(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5
}

// Retryable recognises a database that somebody else writes.
func (Engine) Retryable(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == 5 || e.Code()&0xff == 6)
}

// SavepointGone recognises a savepoint that is not there: some errors, an
// interrupted write among them, roll back everything.
func (Engine) SavepointGone(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 1 && strings.Contains(e.Error(), "no such savepoint")
}

// SlotFull is always false: the upsert affects no row instead.
func (Engine) SlotFull(error) bool { return false }

// ReadOnly recognises SQLITE_READONLY.
func (Engine) ReadOnly(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 8
}

// Package sqlite registers the driver "sqlite3-slotsql", which wraps modernc.org/sqlite:
//
//	import _ "github.com/slotsql/slotsql/sqlite"
//
//	db, err := sql.Open("sqlite3-slotsql", "file:app.db?_pragma=journal_mode(WAL)")
//
// The DSN is that of modernc.org/sqlite. The configuration is found as described at
// slotsql.FindConfig.
package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect"
	dialect "github.com/slotsql/slotsql/dialect/sqlite"
)

var (
	_ slotdialect.Dialect         = Engine{}
	_ slotdialect.ErrorClassifier = Engine{}
	_ slotdialect.ReadOnlyReader  = Engine{}
)

// DriverName is the name under which the driver is registered.
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

// Engine is the SQLite dialect together with what it needs to know of
// modernc.org/sqlite's errors.
type Engine struct{ dialect.Over }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with modernc.org/sqlite as the parent, or with a wrapper of it.
func Dialect() Engine { return Engine{dialect.Over{Dialect: dialect.New(), Fault: fault, Eager: true}} }

func fault(err error) (code int, message string, ok bool) {
	var e *sqlite.Error
	if ok = errors.As(err, &e); ok {
		code, message = e.Code(), e.Error()
	}
	return code, message, ok
}

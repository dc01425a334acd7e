// Package mysql registers the driver "mysql-slotsql", which wraps
// github.com/go-sql-driver/mysql for MySQL and MariaDB:
//
//	import _ "github.com/slotsql/slotsql/mysql"
//
//	db, err := sql.Open("mysql-slotsql", "user:password@/dbname")
//
// The DSN is that of go-sql-driver/mysql. The configuration is found as described at
// slotsql.FindConfig.
package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect"
	dialect "github.com/slotsql/slotsql/dialect/mysql"
)

var (
	_ slotdialect.Dialect                  = Engine{}
	_ slotdialect.ServerAware              = Engine{}
	_ slotdialect.NamespaceAware           = Engine{}
	_ slotdialect.ErrorClassifier          = Engine{}
	_ slotdialect.TxErrorClassifier        = Engine{}
	_ slotdialect.PrepareErrorClassifier   = Engine{}
	_ slotdialect.ProofErrorClassifier     = Engine{}
	_ slotdialect.ReferenceErrorClassifier = Engine{}
	_ slotdialect.TxGuard                  = Engine{}
	_ slotdialect.ReadOnlyReader           = Engine{}
	_ slotdialect.ReadOnlyReader           = Engine{}
)

// DriverName is the name under which the driver is registered.
const DriverName = "mysql-slotsql"

func init() { slotsql.Register(DriverName, &mysql.MySQLDriver{}, Dialect(), nil) }

// Engine is the MySQL dialect together with what it needs to know of
// go-sql-driver/mysql's errors.
type Engine struct{ *dialect.Dialect }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with go-sql-driver/mysql as the parent.
func Dialect() Engine { return Engine{dialect.New()} }

// ForServer finds out whether the server ignores the letter case of table names, and what
// its version supports.
func (Engine) ForServer(ctx context.Context, s slotdialect.Session) (slotdialect.Dialect, error) {
	d, err := dialect.ForServer(ctx, s)
	return Engine{d}, err
}

// InNamespace is the dialect's own, with the same knowledge of errors.
func (e Engine) InNamespace(namespace string) slotdialect.Dialect { return Engine{e.In(namespace)} }

// ReadOnly recognises the error of a write in a READ ONLY transaction, or on a server that accepts no writes: read_only and
// super_read_only, whose error names the option, and innodb_read_only.
func (Engine) ReadOnly(err error) bool {
	n := number(err)
	return n == 1792 || n == 1836 || n == 1290 && strings.Contains(strings.ReplaceAll(err.Error(), "_", "-"), "read-only")
}

// SchemaChanged recognises unknown tables and columns.
func (Engine) SchemaChanged(err error) bool {
	switch number(err) {
	case 1054, // unknown column
		1146, // no such table
		1136, // column count does not match
		1241, // the same, of a subquery
		1364, // field has no default
		1305: // does not exist
		return true
	}
	return false
}

// NotApplied recognises the server's error responses. In autocommit each of them means
// that the statement has been rolled back, except for an error of the commit itself: a
// Galera node that loses contact with the others while it commits cannot know whether
// they have the transaction.
func (Engine) NotApplied(err error) bool { return number(err) != 0 && number(err) != 1180 }

// Conflict recognises a deadlock error. On Galera it is also the error when another node
// was first to write a row, reported by the statement or by its COMMIT. With
// innodb_snapshot_isolation it is also 1020, for a row that is newer than the snapshot. In each
// of these cases the whole transaction has been rolled back. A single plain UPDATE in
// autocommit may get them as well, the latter at SERIALIZABLE.
func (e Engine) Conflict(err error) bool { return e.TxEnded(err) }

// LockTimeout recognises that innodb_lock_wait_timeout has expired, or the time that a statement may take:
// MariaDB's max_statement_time, and max_execution_time, which MySQL applies to queries.
func (Engine) LockTimeout(err error) bool {
	switch number(err) {
	case 1205, 1969, 3024:
		return true
	}
	return false
}

// Retryable recognises deadlocks, locks that were not granted, and a COMMIT of a
// transaction that a deadlock has rolled back (1180, MariaDB).
func (Engine) Retryable(err error) bool {
	switch number(err) {
	case 1205, 1213, 3572, 1020, 1180:
		return true
	}
	return false
}

// TxEnded recognises the deadlock error, with which InnoDB rolls back the victim's whole
// transaction, and on MariaDB 1020, with which it does the same. After any other error the
// transaction continues.
func (e Engine) TxEnded(err error) bool {
	n := number(err)
	return n == 1213 || n == 1020 && e.MariaDB
}

// TxOpen asks MariaDB. Other servers do not have the variable.
func (Engine) TxOpen(ctx context.Context, s slotdialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT CAST(@@in_transaction AS CHAR)")
	if number(err) == 1193 { // unknown system variable
		return false, nil
	}
	if err != nil || len(rows) == 0 {
		return false, err
	}
	b, _ := rows[0][0].([]byte)
	return string(b) == "1", nil
}

// TxUndone returns the error that Galera reports for a transaction that it has rolled
// back.
func (Engine) TxUndone() error {
	return &mysql.MySQLError{
		Number:   1213,
		SQLState: [5]byte([]byte("40001")),
		Message:  "Deadlock found when trying to get lock; try restarting transaction",
	}
}

// TooManyPrepared recognises max_prepared_stmt_count.
func (Engine) TooManyPrepared(err error) bool { return number(err) == 1461 }

// Unreferenced recognises the error of a child row without its parent.
func (Engine) Unreferenced(err error) bool { return number(err) == 1452 }

// SlotFull recognises the errors of an increment at the limits of its slot. The drain
// that follows is right whatever the cause was.
func (Engine) SlotFull(err error) bool { return dialect.Overflow(number(err)) }

// Refuted recognises the error of a number out of range.
func (Engine) Refuted(err error) bool { return number(err) == 1690 }

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// Package mysql registers the driver "mysql-slotsql", which wraps
// github.com/go-sql-driver/mysql for MySQL and MariaDB:
//
//	import _ "github.com/slotsql/slotsql/mysql"
//
//	db, err := sql.Open("mysql-slotsql", "user:password@/dbname")
//
// The DSN is go-sql-driver/mysql's. The configuration is looked for as
// slotsql.FindConfig says.
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
	_ slotdialect.Dialect                 = Engine{}
	_ slotdialect.ServerAware             = Engine{}
	_ slotdialect.NamespaceAware          = Engine{}
	_ slotdialect.ErrorClassifier         = Engine{}
	_ slotdialect.TxErrorClassifier       = Engine{}
	_ slotdialect.ProofErrorClassifier    = Engine{}
	_ slotdialect.TxGuard                 = Engine{}
	_ slotdialect.ReadOnlyReader          = Engine{}
	_ slotdialect.ReadOnlyErrorClassifier = Engine{}
)

// DriverName is the name the driver is registered under.
const DriverName = "mysql-slotsql"

func init() { slotsql.Register(DriverName, &mysql.MySQLDriver{}, Dialect(), nil) }

// Engine is the MySQL dialect with knowledge of go-sql-driver/mysql's errors.
type Engine struct{ *dialect.Dialect }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with go-sql-driver/mysql as the parent.
func Dialect() Engine { return Engine{dialect.New()} }

// ForServer learns whether the server folds the letter case of table names, and
// what its version knows.
func (Engine) ForServer(ctx context.Context, s slotdialect.Session) (slotdialect.Dialect, error) {
	d, err := dialect.ForServer(ctx, s)
	return Engine{d}, err
}

// InNamespace is the dialect's own, with the same knowledge of errors.
func (e Engine) InNamespace(namespace string) slotdialect.Dialect { return Engine{e.In(namespace)} }

// ReadOnly recognises a write in a READ ONLY transaction, or on a server that takes
// none.
func (e Engine) ReadOnly(err error) bool { return number(err) == 1792 || e.ServerReadOnly(err) }

// ServerReadOnly recognises read_only and super_read_only, whose error names the
// option, and innodb_read_only.
func (Engine) ServerReadOnly(err error) bool {
	n := number(err)
	return n == 1836 || n == 1290 && strings.Contains(strings.ReplaceAll(err.Error(), "_", "-"), "read-only")
}

// ErrReadOnly is the server's error for such a write.
func (Engine) ErrReadOnly() error {
	return &mysql.MySQLError{
		Number:   1792,
		SQLState: [5]byte([]byte("25006")),
		Message:  "Cannot execute statement in a READ ONLY transaction",
	}
}

// LocksGaps asks for the session's isolation level.
func (e Engine) LocksGaps(ctx context.Context, s slotdialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT @@"+e.Isolation)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	level, _ := rows[0][0].([]byte)
	return string(level) == "REPEATABLE-READ" || string(level) == "SERIALIZABLE", nil
}

// NextRepeatableRead is for the next transaction alone.
func (Engine) NextRepeatableRead() string { return "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ" }

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

// NotApplied recognises the server's answers. In autocommit each of them means
// that the statement has been undone, but for an error of the commit itself: a
// Galera node that loses the others while it commits cannot say whether they
// have it.
func (Engine) NotApplied(err error) bool { return number(err) != 0 && number(err) != 1180 }

// Conflict recognises a deadlock's victim. On Galera it is also the answer to
// what another node was first to write, at the statement or at its COMMIT; the
// whole transaction has been rolled back in each of these cases. A single plain
// UPDATE in autocommit may get it as well.
func (Engine) Conflict(err error) bool { return number(err) == 1213 }

// LockTimeout recognises the end of innodb_lock_wait_timeout.
func (Engine) LockTimeout(err error) bool { return number(err) == 1205 }

// Retryable recognises deadlocks, locks that were not granted, and a COMMIT of
// what a deadlock has undone (1180, MariaDB).
func (Engine) Retryable(err error) bool {
	switch number(err) {
	case 1205, 1213, 3572, 1020, 1180:
		return true
	}
	return false
}

// TxEnded recognises the deadlock error, with which InnoDB rolls back the
// victim's whole transaction. After any other error it goes on.
func (Engine) TxEnded(err error) bool { return number(err) == 1213 }

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

// TxUndone is what Galera says of a transaction that it has rolled back.
func (Engine) TxUndone() error {
	return &mysql.MySQLError{
		Number:   1213,
		SQLState: [5]byte([]byte("40001")),
		Message:  "Deadlock found when trying to get lock; try restarting transaction",
	}
}

// SlotFull recognises what an increment meets at the limits of its slot. The
// drain that follows is right whatever the reason was.
func (Engine) SlotFull(err error) bool { return dialect.Overflow(number(err)) }

// Refuted recognises a number out of range.
func (Engine) Refuted(err error) bool { return number(err) == 1690 }

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

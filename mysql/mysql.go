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
	_ slotdialect.Dialect         = Engine{}
	_ slotdialect.ServerAware     = Engine{}
	_ slotdialect.NamespaceAware  = Engine{}
	_ slotdialect.ErrorClassifier = Engine{}
	_ slotdialect.TxGuard         = Engine{}
	_ slotdialect.ReadOnlyReader  = Engine{}
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

// Classify goes by the number of the server's error.
func (e Engine) Classify(err error) (c slotdialect.ErrorClass) {
	n := number(err)
	// In autocommit each error response means that the statement has been rolled back, except for an
	// error of the commit itself: a Galera node that loses contact with the others while it commits
	// cannot know whether they have the transaction.
	if n != 0 && n != 1180 {
		c = slotdialect.NotApplied
	}
	// An increment at the limits of its slot. The drain that follows is right whatever the cause was.
	if dialect.Overflow(n) {
		c |= slotdialect.SlotFull
	}
	switch n {
	case 1213: // deadlock; on Galera also where another node was first to write a row, by the statement or by its COMMIT
		c |= slotdialect.Conflict | slotdialect.TxEnded | slotdialect.Retryable
	case 1020: // with innodb_snapshot_isolation a row that is newer than the snapshot, and MariaDB rolls back the transaction
		c |= slotdialect.Retryable
		if e.MariaDB {
			c |= slotdialect.Conflict | slotdialect.TxEnded
		}
	case 1205: // innodb_lock_wait_timeout
		c |= slotdialect.LockTimeout | slotdialect.Retryable
	case 1969, 3024: // max_statement_time of MariaDB, and max_execution_time, which MySQL applies to queries
		c |= slotdialect.LockTimeout
	case 3572, 1180: // NOWAIT, and COMMIT of a transaction that a deadlock has rolled back (MariaDB)
		c |= slotdialect.Retryable
	case 1054, // unknown column
		1146, // no such table
		1136, // column count does not match
		1241, // the same, of a subquery
		1364, // field has no default
		1305: // does not exist
		c |= slotdialect.SchemaChanged
	case 1452: // a child row without its parent
		c |= slotdialect.Unreferenced
	case 1690: // a number out of range
		c |= slotdialect.Refuted
	case 1461: // max_prepared_stmt_count
		c |= slotdialect.TooManyPrepared
	case 1792, 1836: // a READ ONLY transaction, and innodb_read_only
		c |= slotdialect.ReadOnly
	case 1290: // read_only and super_read_only, whose error names the option
		if strings.Contains(strings.ReplaceAll(err.Error(), "_", "-"), "read-only") {
			c |= slotdialect.ReadOnly
		}
	}
	return c
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

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

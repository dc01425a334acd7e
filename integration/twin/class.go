package twin

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// codes read the codes of the errors of parent drivers; "" means that the error is not of theirs.
var codes = []func(error) string{codeOfMySQL, codeOfPgx}

func codeOfMySQL(err error) string {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("MySQL %d (%s)", e.Number, e.SQLState[:])
	}
	return ""
}

func codeOfPgx(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return "PostgreSQL " + e.Code
	}
	return ""
}

// Crossed reports whether the error is PostgreSQL's own fault, with or without slotsql: plain
// PostgreSQL (15.18) gives it to some of ten thousand transactions that update one row while others
// lock it FOR KEY SHARE, and undoes them. See Conflict of its dialect.
func Crossed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "new multixact has more than one updating member")
}

// Conflict reports whether a statement was refused because of what others do, and that
// nothing of it is applied.
func Conflict(err error) bool {
	switch Class(err) {
	case "PostgreSQL 55P03", "SQLite 6", "SQLite 262": // LOCKED, LOCKED_SHAREDCACHE
		return true
	}
	return Retryable(err)
}

// Retryable reports whether the error is one that the plain driver, too, gives to transactions that
// meet.
func Retryable(err error) bool {
	switch Class(err) {
	case "PostgreSQL 40001", "PostgreSQL 40P01", "MySQL 1213 (40001)", "MySQL 1205 (HY000)", "MySQL 1020 (HY000)",
		"SQLite 5", "SQLite 517": // BUSY, BUSY_SNAPSHOT
		return true
	}
	return false
}

// Class is what a program can tell of an error without reading its text:
// the engine's code, a well-known sentinel, or else the type of the innermost
// error.
func Class(err error) string {
	if err == nil {
		return "none"
	}
	for _, code := range codes {
		if c := code(err); c != "" {
			return c
		}
	}
	for _, known := range []error{
		driver.ErrBadConn, context.Canceled, context.DeadlineExceeded, sql.ErrNoRows, sql.ErrTxDone, sql.ErrConnDone,
		driver.ErrSkip, mysql.ErrInvalidConn,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

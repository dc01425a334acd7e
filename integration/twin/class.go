package twin

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Class is what a program can tell of an error without reading its text:
// the engine's code, a well-known sentinel, or else the type of the innermost
// error.
func Class(err error) string {
	var (
		my *mysql.MySQLError
		pg *pgconn.PgError
		li *sqlite.Error
	)
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &my):
		return fmt.Sprintf("MySQL %d (%s)", my.Number, my.SQLState[:])
	case errors.As(err, &pg):
		return "PostgreSQL " + pg.Code
	case errors.As(err, &li):
		return fmt.Sprintf("SQLite %d", li.Code())
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

//go:build cgo

package wrap

import (
	"database/sql/driver"
	"errors"

	"github.com/mattn/go-sqlite3"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/sqlite"
)

func init() {
	mattn = func(d driver.Driver) dialect.Dialect {
		if _, ok := d.(*sqlite3.SQLiteDriver); ok {
			return sqlite.Over{Dialect: sqlite.New(), Fault: faultOfMattn, Arguments: sqlite.InTurn}
		}
		return nil
	}
}

func faultOfMattn(err error) (code int, message string, ok bool) {
	var e sqlite3.Error
	if ok = errors.As(err, &e); ok {
		code, message = int(e.Code), e.Error()
	}
	return code, message, ok
}

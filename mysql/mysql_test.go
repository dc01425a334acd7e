package mysql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	slotdialect "github.com/slotsql/slotsql/dialect"
)

// What has become of a statement in autocommit.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	answer := func(number uint16) error { return fmt.Errorf("answer: %w", &mysql.MySQLError{Number: number}) }
	for name, c := range map[string]struct {
		err                          error
		notApplied, conflict, waited bool
		mariaDB                      bool
	}{
		"syntax":               {err: answer(1064), notApplied: true},
		"deadlock":             {err: answer(1213), notApplied: true, conflict: true},
		"certification":        {err: Engine{}.TxUndone(), notApplied: true, conflict: true},
		"newer, MySQL":         {err: answer(1020), notApplied: true},
		"newer than snapshot":  {err: answer(1020), notApplied: true, conflict: true, mariaDB: true},
		"lock wait":            {err: answer(1205), notApplied: true, waited: true},
		"statement time":       {err: answer(1969), notApplied: true, waited: true},
		"execution time":       {err: answer(3024), notApplied: true, waited: true},
		"node not ready":       {err: answer(1047), notApplied: true},
		"error during commit":  {err: answer(1180)},
		"connection lost":      {err: mysql.ErrInvalidConn},
		"no connection":        {err: driver.ErrBadConn},
		"something unexpected": {err: errors.New("deadlock 1213")},
	} {
		e := Dialect()
		e.MariaDB = c.mariaDB
		if got := e.Classify(c.err); got.Has(slotdialect.NotApplied) != c.notApplied || got.Has(slotdialect.Conflict) != c.conflict ||
			got.Has(slotdialect.LockTimeout) != c.waited {
			t.Errorf("%s: %b", name, got)
		}
	}
}

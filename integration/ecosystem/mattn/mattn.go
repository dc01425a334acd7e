//go:build cgo

// Package mattn registers mattn/go-sqlite3 as the parent driver, for the tests here and for those of other packages.
package mattn

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"

	"github.com/mattn/go-sqlite3"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/twin"
)

var dialect = sqlite.Over{Dialect: sqlite.New(), Fault: fault, Arguments: sqlite.InTurn}

func init() {
	sql.Register("mattn", usual{})
	slotsql.Register("mattn-slotsql", usual{}, dialect, nil)
	twin.Over("sqlite", twin.Parent{Plain: "mattn", Wrapped: "mattn-slotsql", Dialect: dialect, Code: code, Differs: map[string]string{
		"additive/comment-behind-semicolon":       "a comment behind the semicolon is one more statement, which affects 0 rows",
		"additive/named-placeholders-by-position": "named placeholders take arguments by position; such increments are not slotted",
		"additive/named-placeholders-with-digits": "named placeholders take arguments by position; such increments are not slotted",
	}})
}

func fault(err error) (code int, message string, ok bool) {
	var e sqlite3.Error
	if ok = errors.As(err, &e); ok {
		code, message = int(e.Code), e.Error()
	}
	return code, message, ok
}

// usual is mattn's driver with the DSN of modernc's, which tests write.
type usual struct{ sqlite3.SQLiteDriver }

func (u usual) Open(dsn string) (driver.Conn, error) { return u.SQLiteDriver.Open(native(dsn)) }

var pragma = regexp.MustCompile(`_pragma=(\w+)\((\w+)\)`)

// native has mattn's parameters in place of modernc's.
func native(usual string) string { return pragma.ReplaceAllString(usual, "_$1=$2") }

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}

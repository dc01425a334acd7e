//go:build cgo

// Package mattn registers mattn/go-sqlite3 as the parent driver, for the tests here and for those of other packages.
package mattn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/twin"
)

func init() {
	slotsql.Register("mattn-slotsql", &sqlite3.SQLiteDriver{}, sqlite.Over{Dialect: sqlite.New(), Fault: fault, Arguments: sqlite.InTurn}, nil)
	twin.Over("sqlite", twin.Parent{Plain: "sqlite3", Wrapped: "mattn-slotsql", DSN: dsn, Code: code, Differs: map[string]string{
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

// dsn has mattn's parameters in place of modernc's.
func dsn(usual string) string {
	return strings.NewReplacer("_pragma=busy_timeout(60000)", "_busy_timeout=60000", "_pragma=journal_mode(WAL)", "_journal_mode=WAL").Replace(usual)
}

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}

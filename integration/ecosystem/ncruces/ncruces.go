// Package ncruces registers ncruces/go-sqlite3 as the parent driver, for the tests here and for those of other packages: SQLite as WebAssembly.
package ncruces

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/twin"
)

var dialect = sqlite.Over{Dialect: sqlite.New(), Fault: fault, Arguments: sqlite.OfOne}

func init() {
	slotsql.Register("ncruces-slotsql", &driver.SQLite{}, dialect, nil)
	twin.Over("sqlite", twin.Parent{Plain: "sqlite3", Wrapped: "ncruces-slotsql", Dialect: dialect, IDWithRows: true, Code: code, Differs: map[string]string{
		"additive/named-placeholders-by-position": "named placeholders take arguments by position; such increments are not slotted",
		"additive/named-placeholders-with-digits": "named placeholders take arguments by position; such increments are not slotted",
	}})
}

func fault(err error) (code int, message string, ok bool) {
	var c sqlite3.ErrorCode // some errors are a code and nothing else; *sqlite3.Error has one
	if ok = errors.As(err, &c); ok {
		code, message = int(c), err.Error()
	}
	return code, message, ok
}

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}

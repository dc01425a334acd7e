// Package ncruces tests ncruces/go-sqlite3 as the parent driver: SQLite as WebAssembly.
package ncruces

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

func init() {
	slotsql.Register("ncruces-slotsql", &driver.SQLite{}, sqlite.Over{Dialect: sqlite.New(), Fault: fault, Arguments: sqlite.OfOne}, nil)
	twin.Over("sqlite", twin.Parent{Plain: "sqlite3", Wrapped: "ncruces-slotsql", Code: code, Differs: map[string]string{
		"additive/named-placeholders-by-position": "named placeholders take arguments by position; such increments are not slotted",
	}})
}

func fault(err error) (code int, message string, ok bool) {
	var e *sqlite3.Error
	if ok = errors.As(err, &e); ok {
		code, message = int(e.ExtendedCode()), e.Error()
	}
	return code, message, ok
}

func code(err error) string {
	if c, _, ok := fault(err); ok {
		return fmt.Sprintf("SQLite %d", c)
	}
	return ""
}

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite3", "ncruces-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"
	})
}

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "sqlite") }

func TestValues(t *testing.T) {
	want := suite.SQLiteTypes()
	want["BOOLEAN"] = "bool"
	suite.Values(t, suite.SQLite, want, "sqlite3", server.SQLite(t))
}

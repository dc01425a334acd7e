// Package ncruces tests ncruces/go-sqlite3 as the parent driver: SQLite as WebAssembly.
package ncruces

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
)

func init() {
	slotsql.Register("ncruces-slotsql", &driver.SQLite{}, sqlite.Over{Dialect: sqlite.New(), Fault: fault}, nil)
}

func fault(err error) (code int, message string, ok bool) {
	var e *sqlite3.Error
	if ok = errors.As(err, &e); ok {
		code, message = int(e.ExtendedCode()), e.Error()
	}
	return code, message, ok
}

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite3", "ncruces-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"
	})
}

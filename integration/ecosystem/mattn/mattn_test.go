//go:build cgo

// Package mattn tests mattn/go-sqlite3 as the parent driver.
package mattn

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
)

func init() {
	slotsql.Register("mattn-slotsql", &sqlite3.SQLiteDriver{}, sqlite.Over{Dialect: sqlite.New(), Fault: fault}, nil)
}

func fault(err error) (code int, message string, ok bool) {
	var e sqlite3.Error
	if ok = errors.As(err, &e); ok {
		code, message = int(e.Code), e.Error()
	}
	return code, message, ok
}

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite3", "mattn-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_journal_mode=WAL&_busy_timeout=60000"
	})
}

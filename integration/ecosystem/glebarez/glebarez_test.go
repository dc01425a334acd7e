// Package glebarez tests glebarez/go-sqlite as the parent driver. Like modernc.org/sqlite it
// registers the name "sqlite": a program has one of the two.
package glebarez

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/glebarez/go-sqlite"

	"github.com/slotsql/slotsql"
	dialect "github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

func init() {
	slotsql.Register("glebarez-slotsql", &sqlite.Driver{}, dialect.Over{Dialect: dialect.New(), Fault: fault}, nil)
}

func fault(err error) (code int, message string, ok bool) {
	var e *sqlite.Error
	if ok = errors.As(err, &e); ok {
		code, message = e.Code(), e.Error()
	}
	return code, message, ok
}

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite", "glebarez-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"
	})
}

func TestValues(t *testing.T) {
	suite.Values(t, suite.SQLite, suite.SQLiteTypes(), "sqlite", server.SQLite(t))
}

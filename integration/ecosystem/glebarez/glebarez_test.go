package glebarez

import (
	"path/filepath"
	"testing"

	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite", "glebarez-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"
	})
}

func TestValues(t *testing.T) {
	suite.Values(t, suite.SQLite, suite.SQLiteTypes(), "sqlite", server.SQLite(t))
}

package ncruces

import (
	"path/filepath"
	"testing"

	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/calls"
	"github.com/slotsql/slotsql/integration/ecosystem/sessions"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

func TestParent(t *testing.T) {
	suite.Run(t, "sqlite3", "ncruces-slotsql", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"
	})
}

func TestCalls(t *testing.T) { calls.Run(t) }

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "sqlite") }

func TestSession(t *testing.T) { sessions.Run(t, "ncruces", sessions.Late) }

func TestValues(t *testing.T) {
	want := suite.SQLiteTypes()
	want["BOOLEAN"] = "bool"
	suite.Values(t, suite.SQLite, want, "sqlite3", server.SQLite(t))
}

// Package upkeep holds the tests of what keeps an installation right, on every
// engine: slot tables without foreign keys, the audit, and the look at who is
// contended.
package upkeep

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// In short, what every test of this package uses.
var (
	each    = twin.Each
	execAll = twin.ExecAll
	rows    = twin.Rows
)

// patience ends a test that waits for itself.
var patience = map[string]string{
	"mysql":    "innodb_lock_wait_timeout=60",
	"postgres": "lock_timeout=60s",
	"sqlite":   "_pragma=busy_timeout(60000)",
}

// affected runs a statement and returns its rows affected.
func affected(t testing.TB, db *sql.DB, q string) int64 {
	t.Helper()
	res, err := db.ExecContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

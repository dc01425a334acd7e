package twin

import (
	"testing"

	slotdialect "github.com/slotsql/slotsql/dialect"
)

// Parent is another driver for a dialect, to be wrapped in place of the one that slotsql registers.
type Parent struct {
	Plain, Wrapped string              // names in database/sql: the driver's, and of the wrapped driver; both take the usual driver's DSN
	Dialect        slotdialect.Dialect // of the wrapped driver
	Code           func(error) string  // of its own errors; "" for others
	IDWithRows     bool                // LastInsertId is 0 unless RowsAffected is not
	Differs        map[string]string   // golden cases in which it differs from the usual driver, and how
}

// Over makes it the driver of all pairs of a dialect, before the first test. Tests of other dialects are skipped.
//
// A driver that takes the name of one of the usual three, as glebarez/go-sqlite takes that of
// modernc.org/sqlite, needs the build tag nomodernc, which leaves that one out.
func Over(dialect string, p Parent) {
	Plain[dialect], Wrapped[dialect], Wrapping[dialect] = p.Plain, p.Wrapped, p.Dialect
	codes = append(codes, p.Code)
	differs, idWithRows = p.Differs, p.IDWithRows
	only = dialect
}

var (
	only       string // dialect, if Over has been called
	idWithRows bool
	differs    map[string]string
)

// IDWithRows reports whether the parent gives a LastInsertId to no statement that has affected no rows.
func IDWithRows() bool { return idWithRows }

// Differs returns how the parent differs from the usual driver in a golden case; "" if it does not.
func Differs(name string) string { return differs[name] }

// Serves skips a test of another dialect than that of Over. New does so too.
func Serves(t testing.TB, dialect string) {
	t.Helper()
	if only != "" && dialect != only {
		t.Skipf("the parent driver is one for %s", only)
	}
}

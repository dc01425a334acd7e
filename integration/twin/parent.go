package twin

import "testing"

// Parent is another driver for a dialect, to be wrapped in place of the one that slotsql registers.
type Parent struct {
	Plain, Wrapped string              // names in database/sql: the driver's, and of the wrapped driver
	DSN            func(string) string // makes its DSN of the usual driver's; nil: the same
	Code           func(error) string  // of its own errors; "" for others
	Differs        map[string]string   // golden cases in which it differs from the usual driver, and how
}

// Over makes it the driver of all pairs of a dialect, before the first test.
//
// A driver that takes the name of one of the usual three, as glebarez/go-sqlite takes that of
// modernc.org/sqlite, needs the build tag nomodernc, which leaves that one out.
func Over(dialect string, p Parent) {
	e := engines[dialect]
	e.driver = p.Plain
	if usual := e.fresh; p.DSN != nil {
		e.fresh = func(t testing.TB) string { return p.DSN(usual(t)) }
	}
	engines[dialect] = e
	Plain[dialect], Wrapped[dialect] = p.Plain, p.Wrapped
	codes = append(codes, p.Code)
	differs[dialect] = p.Differs
}

var differs = map[string]map[string]string{}

// Differs returns how the dialect's driver differs from the usual one in a golden case; "" if it does not.
func Differs(dialect, name string) string { return differs[dialect][name] }

package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.LimitLifter = (*Dialect)(nil)

// limits are the settings that no statement of slotsql's own is to have as the application's
// statements have them. A query of the catalog costs little, but the planner estimates more, and
// compiles it each time.
var limits = [][2]string{{"statement_timeout", "0"}, {"jit", "off"}}

// LiftLimits implements dialect.LimitLifter.
func (*Dialect) LiftLimits() string { return setLocally(limits...) }

// Limits implements dialect.LimitLifter.
func (*Dialect) Limits() string {
	list := make([]string, len(limits))
	for i, l := range limits {
		list[i] = "pg_catalog.current_setting('" + l[0] + "')"
	}
	return "SELECT " + strings.Join(list, ", ")
}

// SetLimits implements dialect.LimitLifter.
func (*Dialect) SetLimits() string {
	list := make([]string, len(limits))
	for i, l := range limits {
		list[i] = "pg_catalog.set_config('" + l[0] + "', $" + string(rune('1'+i)) + ", true)"
	}
	return "SELECT " + strings.Join(list, ", ")
}

// setLocally writes a statement that changes settings until the transaction ends: behind a
// transaction pooler the session belongs to others after that. Outside a transaction it does
// nothing, where SET LOCAL would warn.
func setLocally(settings ...[2]string) string {
	list := make([]string, len(settings))
	for i, s := range settings {
		list[i] = "pg_catalog.set_config('" + s[0] + "', '" + s[1] + "', true)"
	}
	return "SELECT " + strings.Join(list, ", ")
}

// beginOwn begins a transaction of slotsql's own, which waits for a lock for so long at most.
func beginOwn(modes, lockTimeout string) []string {
	return []string{"BEGIN " + modes, setLocally(append(limits[:len(limits):len(limits)], [2]string{"lock_timeout", lockTimeout})...)}
}

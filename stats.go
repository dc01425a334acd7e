package slotsql

import (
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
)

// StatementStats counts the statements of one kind: those on the same tables, of the same
// class, for the same reason and, if they drain, of the same scope.
type StatementStats = session.StatementStats

// Stats returns what all drivers of this process have counted so far of statements on
// counter tables, ordered by dialect, tables, class, reason and scope. Statements that
// pass through untouched are not counted. The counts only grow, so that a metrics library
// can export them as counters. Each count is exact, but they are not all read at the same
// instant.
func Stats() []StatementStats {
	return session.Stats()
}

// RollUpStats counts what the roll-ups of this process have done to the tables of one
// name. The numbers count slot rows unless stated otherwise.
type RollUpStats = rollup.Stats

// RollUps returns what the roll-ups of this process have done so far, ordered by dialect
// and table. All numbers except Lag only grow.
func RollUps() []RollUpStats {
	return rollup.Totals()
}

// ShadowStats counts the statements of one kind on tables with mode shadow: those on the
// same tables that, with mode on, would have the same class for the same reason.
type ShadowStats = shadow.Stats

// Shadows returns what all drivers of this process have counted so far of statements on
// tables with mode shadow, ordered by dialect, tables, class, reason and scope. All
// numbers only grow. Each is exact, but they are not all read at the same instant. A
// statement that is new to the process is counted under its class once it has been
// planned, after it has run: at once or, on SQLite, when the next connection is taken
// from the pool.
func Shadows() []ShadowStats {
	return shadow.Totals()
}

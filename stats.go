package slotsql

import (
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
)

// StatementStats counts what became of the statements of one kind: those on the
// same tables that have the same class for the same reason.
type StatementStats = session.StatementStats

// Stats returns what all drivers of this process have done so far with
// statements that concern counter tables, ordered by dialect, tables, class and
// reason. Statements that pass through untouched are not counted. The counts
// only grow, so that a metrics library can export them as counters; each is
// right by itself, together they may be some statements apart.
func Stats() []StatementStats {
	return session.Stats()
}

// RollUpStats counts what the roll-ups of this process have done with the slots
// of the tables of one name. Numbers are of slot rows, if nothing else is said.
type RollUpStats = rollup.Stats

// RollUps returns what the roll-ups of this process have done so far, ordered by
// dialect and table. But for Lag the numbers only grow.
func RollUps() []RollUpStats {
	return rollup.Totals()
}

// ShadowStats counts the statements of one kind that were run on tables with
// mode shadow: those on the same tables that would have the same class, for the
// same reason, if the tables were on.
type ShadowStats = shadow.Stats

// Shadows returns what all drivers of this process have counted so far of
// statements on tables with mode shadow, ordered by dialect, tables, class and
// reason. But for Why the numbers only grow; each is right by itself, together
// they may be some statements apart. A statement whose text is new is counted
// when it has been planned, which is after it has run: at once, or on SQLite
// when the next connection is taken from the pool.
func Shadows() []ShadowStats {
	return shadow.Totals()
}

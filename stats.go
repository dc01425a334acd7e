package slotsql

import (
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
)

// StatementStats counts the statements of one kind: those on the same tables, of the same
// class, for the same reason and, if they drain, of the same scope:
//
//   - Dialect, Tables (the counter tables concerned), Class (as slotsql explain reports it),
//     Reason (why the statements are not faster; "" if they are as fast as can be) and Scope
//     (which rows a statement that may drain drains; "" for others) identify the kind.
//   - Verdict says in a sentence how one of these statements compares with plain, as slotsql
//     explain does.
//   - Statements is how many were run, including failed ones.
//   - Drains is how often slots were folded for them, per table.
//   - Fallbacks is how many increments were not slotted when they ran: the row did not
//     exist, its counter was NULL or close to the end of its range, or an argument did not
//     fit.
//   - Coalesced is how many executions were part of another execution's statement.
//   - Cold is how many ran alone on base rows, as written, also because there was nothing
//     to fold, Grouped how many shared a statement on the base row, and Slotted how many
//     went to a slot.
//   - Heated is how often a row became hot.
//   - Tickets is how many numbers were drawn from leased blocks.
//   - Observed is how many queries ran as written because there were no slots, FoldedFirst
//     how many did after their slots had been folded, and Exact how many ran in the way
//     that is exact beside slots.
//   - Examples are a few of the statements, with ? for literals and placeholders.
type StatementStats = session.StatementStats

// Stats returns what all drivers of this process have counted so far of statements on
// counter tables, ordered by dialect, tables, class, reason and scope. Statements that
// pass through untouched are not counted. The counts only grow, so that a metrics library
// can export them as counters. Each count is exact, but they are not all read at the same
// instant.
func Stats() []StatementStats {
	return session.Stats()
}

// SleepStats is whether the tables of one name sleep, as far as this process knows, and how
// it has read them. A table sleeps while its slot table holds no row; reads then cost what
// plain ones do:
//
//   - Dialect and Table (its own name, without its schema) identify the tables.
//   - Awake reports whether they have slots. It is always true with a layout or placement
//     whose increments always go to slots. What another process does is known once a query,
//     an increment or a roll-up of this one has met it.
//   - Since is when that was last found to have changed, and WokenBy what woke the table the
//     last time: "an increment here", or "another process" (also this one, before it was
//     restarted). Both are zero if this process has seen no change.
//   - Observed, FoldedFirst and Exact are the sums of those of StatementStats. A query of
//     several tables counts for each.
//   - Trial is the last trial of slots.
type SleepStats = session.SleepStats

// TrialStats is the last trial of slots for a table in this process. Rows that transactions
// queue for keep slots only if more increments of the table get done with them:
//
//   - At is when the trial ended; it is zero if there was none.
//   - Kept reports whether the slots have been kept.
//   - Before and With are the increments of the table a second, on base rows and with slots.
//     They are 0 if too few came to count.
//
// String says the same in words.
type TrialStats = session.TrialStats

// Sleeps returns the state of the configured tables of all connectors that have connected
// and are not closed, ordered by dialect and table. If several connectors have a table of
// one name, in different databases, it is awake if one is. It sends nothing to a database.
func Sleeps() []SleepStats {
	return session.Sleeps()
}

// RollUpStats counts what the roll-ups of this process have done to the tables of one
// name. The numbers count slot rows unless stated otherwise:
//
//   - Dialect and Table identify the tables.
//   - Passes is the number of passes over the table that were completed.
//   - Moved, Merged, Deleted, Orphans, Skipped, Conflicts (batches) and Errors (base rows)
//     are as in RollUpTable.
//   - Lag is the age of the oldest increment that may still be in a slot: the time since the
//     beginning of the last pass. It is 0 if that is not known: when that pass left a slot
//     behind, and in a process that does not roll up, or stands by.
type RollUpStats = rollup.Stats

// RollUps returns what the roll-ups of this process have done so far, ordered by dialect
// and table. All numbers except Lag only grow.
func RollUps() []RollUpStats {
	return rollup.Totals()
}

// ShadowStats counts the statements of one kind on tables with mode shadow: those on the
// same tables that, with mode on, would have the same class for the same reason:
//
//   - Dialect, Tables, Class, Reason and Scope are those of StatementStats. Class is also
//     pass-through, for statements that would run as written, and unplanned, for statements
//     that slotsql has not analyzed.
//   - Statements is how many were run, including failed ones.
//   - Compared is how many reads were run both ways, once each, and compared.
//   - Differences is how many of these returned other rows, columns or column types, and
//     Behind how many of the differences are due to slots that hold something the base rows
//     do not have.
//   - Undecided is how many differ only in what their SQL leaves open: the order of rows
//     that ORDER BY does not distinguish, or which of them a LIMIT takes.
//   - NotCompared is how many reads were to be compared but cannot be, and Failed how many
//     were not because of an error or a timeout. Why is the reason of the last one.
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

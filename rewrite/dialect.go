package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Dialect is what the planner needs to know of one SQL dialect: how its SQL is read, how
// its names compare, and how slotsql's own statements are written in it. Implementations
// hold no state except caches and are safe for concurrent use.
type Dialect interface {
	// LexRules returns the lexical rules for a Scanner.
	LexRules() *lex.Rules

	// Traits returns the differences of the engine that the planner has to know.
	Traits() Traits

	// Parse translates exactly one statement (without a trailing semicolon;
	// comments may surround it). An error means that the dialect's parser
	// rejects the statement or gave up; the planner then drains. Parse never
	// panics and is bounded in time and memory for any input.
	Parse(sql string) (*ast.Statement, error)

	// SameTable and SameColumn report whether a name as written refers to a
	// table or column of that stored name. DefaultSchema rules are the
	// caller's.
	SameTable(written ast.Ident, stored string) bool
	SameColumn(written ast.Ident, stored string) bool

	// Quote writes a stored name so that the dialect reads exactly that name.
	Quote(name string) string

	// Placeholder writes the n-th (from 1) placeholder of a statement.
	Placeholder(n int) string

	// Increment writes the slotted upsert. It adds each delta to the given
	// slot of every row of ref that where selects, and holds a lock on that
	// base row, until the transaction ends, which a drain's lock conflicts
	// with. It affects no row when the base row is missing, when a touched
	// counter is NULL, or when its base value or slot value leaves the range
	// in which base and slots together cannot overflow (see docs/design).
	Increment(t *schema.Table, in IncrementSQL) string

	// Add writes the update of one existing slot row, by its key: the short form of
	// Increment for a connection that has written the row before. It takes no lock except
	// the slot row's, and affects no row if the slot row is missing or would leave its
	// range. It is exact without looking at the base row: a slot row references a base
	// row, and a drain or a DELETE, which hold the base row, must also lock the slot row.
	//
	// With CheckBase, an increment of other counters may have created the slot row, or
	// the base row may have been deleted without it. The statement then also affects no
	// row if Increment would affect none because of the base value. An empty string means
	// that this cannot be known without a lock on the base row.
	//
	// With Locks, the statement takes the base row's lock before it takes the slot row's,
	// as Increment does: in a transaction both last, and a drain takes them in that order.
	// An empty string means that the engine has no such form, or that it needs none.
	Add(t *schema.Table, in AddSQL) string

	// Total writes the exact total of a counter, or the merged value of a companion, of
	// the row that qualifier names. Without slots it is the base value itself, including
	// its type and NULL. comparable requests an expression that also compares as the
	// plain column would, and may be computed for many more rows than are returned.
	Total(t *schema.Table, qualifier, column string, comparable bool) string

	// Lock writes the statements that make increments of the base rows that scope selects
	// wait until the transaction ends, and that themselves wait for the increments in
	// flight. If it is empty, the first statement of Fold does that already. A returned
	// result set is to be discarded.
	Lock(t *schema.Table, scope Scope) []string

	// Count writes a query for the number of base rows that scope selects. It takes no
	// locks, unlike Lock, which would lock the gap around a row that does not exist; ""
	// if Lock does not do that.
	Count(t *schema.Table, scope Scope) string

	// Fold writes the statements that move all slots of the base rows that scope selects
	// into the base rows, and delete the slots. There are none if slot rows have to be
	// named one by one (FoldByName).
	Fold(t *schema.Table, scope Scope) []string

	// Versions writes the statements that give a transaction that has changed the rows of
	// scope a consistent version of each row and its slots, on an engine that might
	// otherwise show it the new row together with slots of an old snapshot; nil if the
	// engine never does that.
	Versions(t *schema.Table, scope Scope) *VersionSQL

	// CreateSlots and DropSlots write the DDL of a slot table, idempotent
	// where the dialect has IF [NOT] EXISTS.
	CreateSlots(t *schema.Table) []string
	// AddSlots writes the DDL that adds the missing columns of counters to a slot table.
	// It is to be run in one transaction, by a session that does not wait long for locks,
	// since other sessions queue behind it.
	AddSlots(t *schema.Table, counters []string) []string
	DropSlots(t *schema.Table) []string

	// Truncate returns what TRUNCATE of a base table needs because of its slot table's
	// foreign key: also is written after the table's name, and before and after are run
	// around the statement.
	Truncate(t *schema.Table) (also string, before, after []string)
}

// A SnapshotDialect is a Dialect of an engine where a transaction may have a
// snapshot that Fold is held to: it then fails for slot rows that have been changed
// since, as it should, and does not see new ones.
type SnapshotDialect interface {
	// Snapshot writes a query that returns no row where the transaction has no
	// such snapshot. Else it returns one for each base row that scope selects:
	// the snapshot's oldest transaction, and the key's values, all as strings; for
	// every row as scope, one with the former alone.
	Snapshot(t *schema.Table, scope Scope) string
}

// A ConservingDialect is a Dialect whose Fold adds to base rows and deletes slots by
// separate statements, so that what the rows have taken can be compared with what the
// slots hold before these are deleted. (Where Fold is one statement, it fails by
// itself when a base row has not taken it.)
type ConservingDialect interface {
	// Unmoved writes a query that runs before the last statement of Fold. Each of
	// its rows is a reason, for people, why slots cannot be deleted: a base row has
	// not taken what they hold. It returns none when all has arrived. An empty
	// query asks nothing.
	Unmoved(t *schema.Table, scope Scope) string
}

// A HoldingDialect is a Dialect of an engine with accounts: a session's user may be
// allowed to lock base rows, and not to move slots into them.
type HoldingDialect interface {
	// Held writes a query that returns a row if there is a slot row of the base rows
	// that scope selects. It sees what is committed where Lock has come before it and
	// the transaction is not held to a snapshot (SnapshotDialect).
	Held(t *schema.Table, scope Scope) string
}

// A GroupingDialect is a Dialect of an engine that would not compute with a sum of many
// deltas, or not store the result, as it does one by one.
type GroupingDialect interface {
	// Amount writes an argument that is a sum, or a bound, of a column's numbers.
	Amount(c *schema.Column, arg string) string
	// Stores writes a predicate that holds only where column + sum is exact and stored as
	// it is; "" where the engine refuses what is not. ref is the column as the
	// statement names it.
	Stores(c *schema.Column, ref, sum string) string
	// Less writes counter - amount such that it compares as the counter does.
	Less(counter, amount string) string
}

// A ConflictGroupingDialect is a GroupingDialect whose conflict clause takes no WHERE.
type ConflictGroupingDialect interface {
	GroupingDialect
	// OnlyIf writes what stands around an expression so that the statement fails, and changes
	// nothing, where a predicate does not hold.
	OnlyIf(predicate string) (before, after string)
}

// IncrementSQL is the variable part of a slotted upsert. Where, Slot and each
// Delta's SQL are opaque markers that stand for pieces of the application's
// own statement or for bound values. A dialect copies them into its SQL
// verbatim, as often and in whatever order it likes; the planner replaces each
// occurrence by the piece and appends that piece's arguments in the same
// order.
type IncrementSQL struct {
	Ref       string  // the table reference as FROM takes it, e.g. `posts AS p`
	Qualifier string  // how columns of Ref are qualified, quoted as needed, e.g. `p`
	Where     string  // a predicate over Ref, to be parenthesised; never empty
	Slot      string  // the slot number; with the table's SkipLocked, for when no slot row is unlocked
	Deltas    []Delta // at least one, distinct columns
	// Companions are set in the slot row as well. One that is NotNull keeps
	// the statement from affecting any row when its value is NULL, and one
	// that is Max or Min when the base value is.
	Companions []CompanionSQL
	// Clustered reports whether Where fixes every column of the primary key, so
	// that the engine reads the base row itself.
	Clustered bool
	// Inserts are the columns for which the application's INSERT gives values; nil
	// for an UPDATE.
	Inserts []string
	// Holds reports whether Where looks at columns beyond the key, which no other session may
	// change before the transaction ends.
	Holds bool
}

// AddSQL is the variable part of Add, of markers as in IncrementSQL.
type AddSQL struct {
	Key    []string // the values of the table's key columns, in their order
	Slot   string
	Deltas []Delta
	// CheckBase reports whether the base values have to be looked at, and Locks whether the
	// base row has to be locked.
	CheckBase, Locks bool

	Companions []CompanionSQL // Latest only
	Inserts    []string       // as in IncrementSQL
}

// CompanionSQL is a companion and what it is set to: a marker, or an expression of
// the engine's own that takes no argument.
type CompanionSQL struct {
	schema.Companion
	SQL     string
	NotNull bool
}

// Delta is what is added to one counter column: a marker for a signed literal
// or a bound value, never NULL.
type Delta struct {
	Column string
	SQL    string
}

// VersionSQL are the statements of Versions.
type VersionSQL struct {
	// Find is a query of what the transaction sees of slots of the rows that
	// scope selects: the key's columns, the slot's number and a string that says
	// what it sees of the base row.
	Find string
	// Hide makes the slot of such a row (its number, the key, the string) the
	// transaction's own, without a value. It affects no row when the slot is
	// there for every session, and when the base row is not what the transaction
	// sees of it. Drop (the key, the number) deletes the slot that Hide has
	// made, which the transaction then no longer sees.
	Hide, Drop string
	// Touch makes the newest version of the base rows the transaction's own,
	// where moving their slots has changed none.
	Touch []string
}

// Scope selects the base rows that a drain covers: every row (Where is ""), or those of
// Ref that Where selects. Where is a marker as in IncrementSQL. What it stands for
// compares every column of a unique key with constants.
type Scope struct {
	Ref       string
	Qualifier string
	Where     string
	// Removes reports whether the statement deletes rows or changes their keys, or locks them as
	// if it did (FOR UPDATE). It then needs their strongest lock, and the drain takes that at once.
	Removes bool
}

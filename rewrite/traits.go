package rewrite

import "github.com/slotsql/slotsql/rewrite/names"

// Traits are the differences between engines, as data: what a planner or a session has to
// know and no statement of a dialect can express. The zero value of each is standard SQL.
type Traits struct {
	names.Rules
	ValueRules
	StatementRules
	ReadRules
	WriteRules
	SessionRules
}

// ValueRules are how values are typed, compared and computed.
type ValueRules struct {
	// LooseEquality: a number compares equal to many strings.
	LooseEquality bool
	// StringsAreFloats: a string in an addition is a floating-point number.
	StringsAreFloats bool
	// TypedConstants: a string or placeholder has the type of what it is compared with.
	TypedConstants bool
	// AnyType: a column takes values of any type.
	AnyType bool
	// ColumnsCollate: a comparison uses the collation of the column that it
	// names first, and a subquery in a column's place has none (SQLite).
	ColumnsCollate bool
	// ScalarMax: MAX and MIN of several arguments are what others call
	// GREATEST and LEAST.
	ScalarMax bool
	// NumberCasts are the types, in lower case and as a cast writes them, that leave an
	// integer as it is: with their number of bits, or with 0 where any number fits.
	NumberCasts map[string]int
	// SumOfInt is the type of SUM over an integer column of up to 32 bits,
	// where adding a slot sum to it would give another.
	SumOfInt string
	// Stable is what may be evaluated more than once; nil for nothing.
	Stable *Stable
}

// StatementRules are which statements there are, and what they do besides their job.
type StatementRules struct {
	// DynamicSQL: PREPARE and EXECUTE IMMEDIATE take the value of an expression
	// for a statement.
	DynamicSQL bool
	// Compound: IF, CASE, LOOP, FOR and the like may stand outside of routines, with
	// statements in them.
	Compound bool
	// SetStatement: SET STATEMENT variable = value FOR has a setting for one statement.
	SetStatement bool
	// LockTables: LOCK TABLES limits the session to the tables it lists.
	LockTables bool
	// InsertIDCall is the function, in lower case, that returns its argument and makes it the
	// session's last insert ID; "" for none.
	InsertIDCall string
	// UpsertSetsInsertID: an upsert of a table with an AUTO_INCREMENT column
	// changes LAST_INSERT_ID().
	UpsertSetsInsertID bool
	// CountsChanged: RowsAffected of an UPDATE is the rows that it has changed, or those that it has found if the client has asked for that.
	CountsChanged bool
	// UpsertCounts: RowsAffected of an upsert is 1 for a new and 2 for a
	// changed row.
	UpsertCounts bool
}

// ReadRules are the forms that a query of totals may have, and those it has to avoid.
type ReadRules struct {
	// KeyIn stands around a query of keys, behind a key's name, such that the engine
	// finds rows by these keys OR by another condition, from an index for each
	// (candidates.go). Empty: it has no such plan.
	KeyIn [2]string
	// TotalsChangeTypes: a total reports another type than the counter's column, so that the
	// original query is sent for its column types (TypesQuery).
	TotalsChangeTypes bool
	// GroupsByKey: a block grouped by a table's primary key may name its
	// other columns; one over a query may not.
	GroupsByKey bool
	// StrictGroups: the engine may be set to refuse, in a query with groups,
	// what names a column that is not grouped by (ONLY_FULL_GROUP_BY).
	StrictGroups bool
	// StrictDistinct: under that setting it also refuses ORDER BY with a column
	// that is not selected, beside DISTINCT (MySQL).
	StrictDistinct bool
	// Unmerged ends a derived table that the engine must not merge into the
	// query around it when grouping sets stand over it.
	Unmerged string
	// MaybeNull stands around an expression to have the engine take it for one
	// that may be NULL, where it would otherwise take it for one that never is,
	// and not look whether its row is the missing one of an outer join.
	MaybeNull [2]string
	// SelfSubqueryFails: an UPDATE may not read its own table in a subquery,
	// but in a derived table.
	SelfSubqueryFails bool
	// Defects are those of the engine that a rewritten query must not meet.
	Defects Defects
}

// Defects is a set of wrong answers that engines give to correct SQL.
type Defects uint8

// The defects.
const (
	// FullJoinFilter: a set operation in FROM may lose a WHERE where one of its
	// queries has a FULL or RIGHT JOIN and others have subqueries (SQLite).
	FullJoinFilter Defects = 1 << iota
	// RowSubquery: a row that is compared with a subquery may hold no subquery
	// itself (MariaDB refuses it, and may crash where it was prepared).
	RowSubquery
	// QuantifiedNull: the NULL of a comparison with ANY or ALL may become 0 in a
	// statement with further subqueries (MariaDB).
	QuantifiedNull
	// ImpossibleExists: EXISTS of a query that can have no row (WHERE column IS NULL, of one that is never NULL) crashes
	// the server where the query compares a column with an outer subquery, and is no condition of its own (MariaDB).
	ImpossibleExists
	// RowOfOne: a row that is compared with a subquery that selects one column twice, of a query in FROM
	// that is not merged, is compared with it by one of its own columns only (MySQL).
	RowOfOne
)

// Has reports whether the set has the defect.
func (d Defects) Has(one Defects) bool { return d&one != 0 }

// WriteRules are what a write locks, and what happens to the slots of the rows it changes.
type WriteRules struct {
	// OneWriter: one connection writes at a time, so that more than one slot
	// per key gains nothing.
	OneWriter bool
	// SkipLocked ends a query that locks its rows as an UPDATE does, but for those that other transactions have locked; "" if there
	// is none.
	SkipLocked string
	// MissLocks: an update that finds no row keeps others from inserting next
	// to it until its transaction ends (InnoDB's gap locks).
	MissLocks bool
	// LocksReads: a statement that writes locks the rows that it reads, slots as well (InnoDB).
	LocksReads bool
	// ChangeExcludes: a transaction that has changed a row has it locked against
	// increments as well.
	ChangeExcludes bool
	// ChangeKeepsSlotless: while a transaction has changed a row that has no slots, other sessions
	// cannot create any, except in a journal.
	ChangeKeepsSlotless bool
	// LocksUnchanged: an UPDATE locks a row that it leaves as it is, and does not count it as affected.
	LocksUnchanged bool
	// ReplaceCascades: REPLACE deletes a replaced row's slots through the
	// foreign key.
	ReplaceCascades bool
	// SlotTriggers: triggers on the base table delete the slots of a row that
	// goes, and move those of one whose key changes, with a foreign key or not.
	SlotTriggers bool
}

// SessionRules are what a session has to know about its engine and parent driver.
type SessionRules struct {
	// DDLCommits: a statement that changes the schema commits.
	DDLCommits bool
	// MultiIsTx: several statements sent in one call are one transaction.
	MultiIsTx bool
	// ArgsRestart: each statement of such a call takes its arguments from the
	// first one on.
	ArgsRestart bool
	// MultiProbe is two harmless statements, to be run first where
	// the parent may refuse such calls. MultiProbeArg is for calls with
	// arguments: in place of its ? come the placeholders of the call.
	MultiProbe, MultiProbeArg string
	// SlowParse: the parent parses SQL each time it runs, so that slotsql
	// prepares its own.
	SlowParse bool
	// RightsAreFacts: what the session's user may do is a fact of a column, and
	// another role of the same session may do other things (MySQL).
	RightsAreFacts bool
	// TempUnlisted: the namespace of a session does not tell of its temporary tables (MySQL).
	TempUnlisted bool
	// ViewsElsewhere: views of other databases may read a table (MySQL).
	ViewsElsewhere bool
	// StatementTriggers: a trigger may fire for a statement that has changed no row
	// (PostgreSQL), so that a fold is only sent where there are slots.
	StatementTriggers bool
	// ErrorAborts: an error aborts the transaction, in which nothing but a rollback succeeds
	// after it (PostgreSQL).
	ErrorAborts bool
	// RoutinesKeepTx: a block of code and a procedure may only end a transaction of their own
	// making, so after one the session is in a transaction if it was in one before (PostgreSQL).
	RoutinesKeepTx bool
	// UnsignedByProtocol: the parent gives values of unsigned 64-bit columns another Go type
	// where the statement is prepared, and sends unsigned arguments as unsigned numbers.
	UnsignedByProtocol bool
	// LimitsPrepared: the server limits how many statements all sessions together have prepared.
	LimitsPrepared bool
	// LateErrors: an error of a query may come with its first row, from a parent that begins to
	// run a query only then.
	LateErrors bool
}

package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Class is how the planner has classified a statement.
type Class string

// The classes. Every class but Refused gives exactly what the plain driver
// would give; they differ in cost.
const (
	// PassThrough: the statement goes to the parent byte for byte.
	PassThrough Class = "pass-through"
	// Additive: an increment of one row by a unique key; a slotted upsert.
	Additive Class = "additive"
	// AdditiveBase: an increment that runs on the base table as it is.
	// Deltas commute, so a total is right wherever its parts are.
	AdditiveBase Class = "additive-base"
	// Upsert: INSERT ... ON CONFLICT/DUPLICATE KEY that increments; a slotted
	// upsert when the row exists, else the original statement.
	Upsert Class = "upsert"
	// Read: counters are replaced by exact totals in the statement.
	Read Class = "read"
	// Drain: slots are folded into the base rows under lock, then the original statement
	// runs, in one transaction.
	Drain Class = "drain"
	// Draw: to people what the planner has as a Drain or AdditiveBase, of executions that share a
	// statement and get a number each. See Plan.Reported.
	Draw Class = "draw"
	// Multi: several statements in one call, each with its own plan.
	Multi Class = "multi"
	// Refused: the statement cannot be run exactly; Reason says what to do.
	Refused Class = "refused"
)

// Plan describes how to run one statement, or several sent in one call. It is immutable,
// holds neither slot numbers nor argument values, and may be used by many goroutines.
// Statements that share a plan (SharedPlan) have everything that it refers to in common, and each has
// its own FieldValues, by which a SQL or a Literal becomes the statement's.
//
// First come the fields that every class has, then a form for each class. The forms of
// other classes are zero.
type Plan struct {
	Class  Class
	Reason string   // why the statement is not faster than it is; "" when it is as fast as can be
	Tables []string // the counter tables concerned

	// Touched are the counter tables that the original SQL mentions.
	Touched []*schema.Table

	// SQL is what to run: the original, or for Read the rewritten one.
	SQL string
	// Inputs is the number of arguments that the original SQL takes.
	Inputs int

	// Effects on the session.
	Effects Effect
	// TxEvents are the effects of the SQL on the transaction, computed once if Effects
	// has TxControl; nil otherwise.
	TxEvents []lex.TxEvent

	Grouping

	// Increment is the slotted upsert of Additive and Upsert.
	Increment *Increment
	// Bounded is the form of a guarded statement that is tried before the drain; nil if
	// part of the total cannot decide the guard.
	Bounded *Bounded
	// Base is for PassThrough and AdditiveBase, and for the fallback of an Upsert: how
	// the original SQL runs on the base table.
	Base BasePlan
	// Read is for class Read; its Observed also for class Drain.
	Read ReadPlan
	// Drain is for class Drain. Additive, AdditiveBase and Upsert have its tables: the
	// fallback drains them if the increment affects no row, or an argument does not
	// satisfy Base.Require.
	Drain DrainPlan
	// Parts are the statements of a Multi.
	Parts []Part

	// Values are this statement's literals, for a plan shared by statements that differ only
	// in literals; nil if the plan is not shared.
	Values *FieldValues
}

// Grouping says whether executions of a statement may share one.
type Grouping struct {
	// Group is the form that they share; nil if they may not. GroupReason is the reason, for
	// an increment of one row.
	Group       *Group
	GroupReason string
}

// BasePlan describes how the original SQL runs on the base table without a drain.
type BasePlan struct {
	// Require is what an AdditiveBase requires of bound deltas.
	Require []DeltaArg

	// Changes are the rows of counter tables that the statement changes and that are
	// not an Increment's; nil where it changes none, and where that does not matter.
	// Fresh reports whether it inserts them.
	// Counted: the rows affected are certainly of these, and have been changed.
	Changes []DrainTable
	Fresh   bool
	Counted bool

	// LocksOnly reports whether the statement is certain to read nothing but rows that it locks.
	LocksOnly bool

	// LocksOthers reports whether a query in the statement locks rows of Changes, which the statement need not change.
	LocksOthers bool
	// Shares reports whether the statement may lock rows in a way that lets other sessions create slots of them.
	Shares bool

	// DeletesFrom are the tables that rows are deleted from while slot rows refer to them.
	DeletesFrom []*schema.Table

	// Several reports whether SQL is several statements that run as they are: if one
	// fails, the effects of those before it may remain.
	Several bool
}

// ReadPlan describes how a query with totals runs.
type ReadPlan struct {
	// Args are the arguments of SQL; nil for the original ones.
	Args []Arg

	// Stars are the counter tables whose * is expanded in SQL. The expansion is right
	// only as long as the tables have the columns that the catalog has.
	Stars []*schema.Table

	// Types is a query for the column types of the original, for engines where
	// expressions report other types than the plain column; nil elsewhere.
	Types *TypesQuery

	// Observed is the form that runs first, in place of SQL, or of the drain of class Drain; nil if there is none.
	Observed *Observed

	// FoldFirst reports whether SQL computes the totals of many rows: where the table has slots, and the session
	// may write, folding them first costs less.
	FoldFirst bool

	reader *reader // what a write of another table reads, for a statement around it
}

// A TypesQuery returns no rows but has the column types of the original. It
// takes the original arguments.
type TypesQuery struct {
	Bound
	// Checks reports whether the engine may refuse the original SQL although it accepts
	// SQL. An error of the TypesQuery is then the statement's error.
	Checks bool
	// Named reports whether SQL with arguments in it may name a result column: where the parent writes arguments
	// into the SQL, that name has their values.
	Named bool
	// InPlace reports whether SQL is the original statement with only counters replaced
	// by expressions, over the same tables.
	InPlace bool
}

// DrainPlan describes how slots are folded before SQL runs.
type DrainPlan struct {
	// Tables are drained before SQL runs.
	Tables []DrainTable

	// Proof is the form of the statement that needs no drain if its row has no slots; nil
	// if there is none.
	Proof *Proof

	// Asleep is how SQL runs if the tables have no slots; nil if it drains some of their rows only, or in another way.
	Asleep *Asleep

	// LockingRead is a query that takes the lock of its drain itself, see lockingread.go; nil where
	// there is none.
	LockingRead *LockingRead

	// Before and After run around SQL: DDL of slot tables.
	Before, After []Bound

	// FoldOptional reports whether SQL may run without the drain if a fold fails. It
	// changes the table in a way that keeps what slots hold valid, or removes it with its
	// rows. It may be the statement that makes folds succeed again.
	FoldOptional bool

	// Uncounted reports whether SQL may affect or return other rows than those of Tables: a query may aggregate
	// them, a MERGE may insert them, a WITH query changes them, or EXPLAIN tells of them.
	Uncounted bool

	// Deletes reports whether SQL is a DELETE of rows that Tables identifies by a list of keys,
	// or as all rows where Open is set, and of no other table; or, Uncounted, has such a DELETE
	// as a WITH query.
	Deletes bool

	// Repeats reports whether SQL may be undone by a savepoint and run again: it reads or
	// changes rows, and does nothing else.
	Repeats bool

	// OutsideTx reports whether SQL cannot run in a transaction. It follows a drain that is
	// committed, and the engine refuses it if there are slots by then.
	OutsideTx bool
	// InsideTx reports whether SQL can run in a transaction only. Outside of one it is run as it
	// is: the engine refuses it.
	InsideTx bool
}

// baseExact reports whether the plan's SQL may run on the base table wherever it
// stands, whatever its arguments.
func (p *Plan) baseExact() bool {
	return p.AsIs() || p.Increment != nil && p.Increment.plain
}

// Bound is SQL of ours with the arguments it takes.
type Bound struct {
	SQL  SQL
	Args []Arg
}

// Arg is one argument of a Bound.
type Arg struct {
	Slot   bool   // the session's slot number
	Index  int    // position in the application's arguments, from 0
	Name   string // of a named argument; Index then counts it as well
	Negate bool   // bind the negated number

	// Total, from 1, is the sum of what executions that share a statement add
	// to the counter of that number; Index is then -1. Negate is as elsewhere.
	Total int
	// First reports whether the first execution's Share.First takes the place of what it adds; of a Free argument,
	// whether the first one's value is bound, and not the last one's.
	First bool
	// Bound, from 1, is the bound of the group's Guard of that number; Index is then -1.
	Bound int
	// Portion is a number of the execution's portion; Index is then -1.
	Portion PortionArg
	// Free reports whether executions with different values may share a statement.
	Free bool

	// Many says what of the rows of a statement for many of them is bound;
	// Index is then -1.
	Many Many
	// Column, from 0, is the share of a PortionDelta or PortionNeed.
	Column int

	// Plus is added to the argument, for a LIMIT that covers an OFFSET and more;
	// with Index -1 the argument is the literal Number.
	Plus   *Arg
	Number string
}

// Many is a part of ManyRowsSQL.
type Many int

// The parts: not one of them, all rows, their number.
const (
	NotMany Many = iota
	ManyRows
	ManyCount
)

// DrainTable describes how one table is drained.
type DrainTable struct {
	Table *schema.Table
	// Keyed reports whether only the rows of one unique key value, or of a list of them, are
	// drained.
	Keyed bool
	// Open reports whether all rows are drained by locking each of them, which does not keep
	// others from being inserted. Lock then returns one row: how many rows it has locked, where it
	// is, and the session's isolation level.
	Open bool
	// Most is the maximum number of rows that these keys identify: the product of the
	// lengths of the lists.
	Most int
	// Only reports whether the statement's predicate is that key and nothing else, so
	// that the statement touches these rows if they exist.
	Only bool
	// Key is what the slots' key equals where that fixes the one row.
	Key []KeyValue
	// Rows identifies what is drained, as what follows FROM in a query: two drains with equal statements and equal
	// arguments cover the same rows.
	Rows Bound
	Lock []Bound
	// LockAlone is the lock for a transaction that has no other, where that is another one; nil otherwise.
	LockAlone []Bound
	// Folding is how slots are moved; Fold has the statements of FoldByStatement.
	Folding Folding
	Fold    []Bound
	New     *NewRows // set where rows may not exist yet

	// Forms is what arguments have to be for the key to be certain; else All is
	// what drains.
	Forms []FormArg
	All   *DrainTable

	Versions *Versions // set where a transaction may see old slots beside a new row

	Look Look
}

// Certain reports whether the statement touches the rows if they exist: WHERE has nothing but their key, or an INSERT has it.
func (d *DrainTable) Certain() bool { return d.Only || d.Keyed && d.New != nil }

// Look holds what a drain asks about slots, each nil if it is not needed: the statements
// of HoldingDialect, SnapshotDialect and ConservingDialect (Unmoved).
type Look struct {
	Held, Snapshot, Unmoved *Bound
}

// Folding is how a drain moves slots, once it has locked the base rows.
type Folding uint8

// The ways of folding.
const (
	// FoldByStatement runs the statements that Dialect.Fold has written.
	FoldByStatement Folding = iota
	// FoldByName looks the slot rows up, and then names each of them, because the
	// dialect has no statements for it.
	FoldByName
	// FoldNothing moves nothing: the caller only looks for slots.
	FoldNothing
)

// Versions are the statements by which a transaction comes to see one version of
// rows and their slots; see the dialect's VersionSQL. Hide and Drop take the
// values of a row that Find has returned.
type Versions struct {
	Find       Bound
	Hide, Drop string
	Touch      []Bound
}

// Effect is what a statement changes in its session.
type Effect uint8

// The effects, found lexically: they may be reported where there are none.
const (
	// TxControl: the statement may begin or end a transaction.
	TxControl Effect = 1 << iota
	// Namespace: the statement may change what unqualified names mean.
	Namespace
	// SchemaChange: the statement may change tables.
	SchemaChange
	// SessionChange: the statement may leave the session such that a statement
	// does something else in it than in others.
	SessionChange
	// TicketLock: the statement may lock rows of a table with tickets, which its transaction
	// then keeps.
	TicketLock
	// TicketRecall: the statement may set a counter with tickets lower, or remove its row, so
	// that blocks leased before must not be drawn from after its transaction.
	TicketRecall
)

// Part is one statement of a Multi.
type Part struct {
	Plan *Plan
	SQL  string // as the application wrote it, but for the numbers of placeholders
	// Numbers are the numbers in the call of the arguments that the part takes, where placeholders have numbers ($1).
	// Where they have none, they are those from ArgBase on.
	Numbers []int
	// ArgBase is the number of positional placeholders before this part.
	ArgBase int
	// Params is the number of arguments that this part takes.
	Params int
	// Dynamic: which statement the part runs or prepares is known when it runs.
	Dynamic bool
	// TxBegin and TxEnd report whether the part is BEGIN / COMMIT or the like.
	TxBegin, TxEnd bool
}

// AsIs reports whether the plan runs the original statement and nothing else.
func (p *Plan) AsIs() bool {
	return p.Class == PassThrough || p.Class == AdditiveBase && len(p.Base.Require) == 0
}

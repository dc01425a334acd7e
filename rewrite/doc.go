// Package rewrite plans statements: SQL and tables in, plan out. It does no I/O, and uses
// no clock, randomness, context or log. The same statement, tables and dialect always
// give the same plan, and planning changes nothing that it is given.
//
// A Planner takes the SQL of one call. SQL that names no counter table is passed through.
// Any other SQL is parsed by the Dialect into an ast.Statement, a neutral form made for
// classifying and for splicing edits into the original SQL, and becomes a Plan. A plan
// has a Class, the SQL to send in place of the application's, and the origin of each
// argument. It holds no argument values and no slot numbers, so one plan serves every
// execution on every connection.
//
// If a parser rejects a statement, or a dialect cannot represent it faithfully, slotsql
// does not guess: the statement is planned as a drain, or refused with a reason. Offsets
// (ast.Span) are bytes of the application's SQL. No statement makes planning panic, and its
// time and memory are bounded: a very large or deeply nested statement drains the tables
// whose names occur in it.
//
// Planner.Plan (planner.go) divides the SQL of one call into statements; planning.plan has the dialect parse each, and picks the
// planner for its kind. docs/contributing/life-of-a-statement.md tells the rest.
//
// A planning is the work on one statement. Its fields answer questions about the statement:
// names.Resolver, constants, writtenSources, volatility, keyFinder, mentions, drainer and
// definitions. Each holds only the others that it asks itself, and knows nothing of those who ask:
// reads (reader, blockReader, candidates), writes (dml, insertion, slotWriter) and groups (grouper
// and others).
//
// # Where to find what
//
// Input, output and what they are made of:
//
//   - the lexical layer, with no knowledge of tables: package rewrite/lex; source.go adds the
//     arguments of placeholders, edit.go and fragment.go how SQL is spliced
//   - the neutral statement, with no knowledge of tables either: package rewrite/ast
//   - tables, counters, companions and slot tables: package rewrite/schema; SQL that names
//     slots: slotsource.go
//   - what a dialect provides, and what it differs in: dialect.go, traits.go
//   - the plan: plan.go, increment.go, effect.go
//
// Questions about a statement:
//
//   - what its names mean: package rewrite/names; which tables occur in it (mentions):
//     mention.go, view.go
//   - what its numbers, strings and arguments are worth (constants): as an increment adds them in
//     delta.go and computed.go, as a column stores them in insertedvalue.go, keyform.go and clock.go;
//     sources whose rows it has in itself (writtenSources): written.go, writtenarray.go
//   - whether an expression may be evaluated twice (volatility): volatility.go; whether it may
//     fail: mayfail.go
//   - which rows a condition fixes by key (keyFinder): fixedrows.go, rowkey.go, selfquery.go
//
// Queries (class Read):
//
//   - planSelect and the walk over a query's blocks: read.go, readexpr.go, readcte.go;
//     select lists and *: item.go, itemname.go, outname.go
//   - the forms that stand for a counter: a total in its place (readexpr.go), a table as a
//     query of totals (derive.go, derivekey.go), a row as a whole (wholerow.go), sums over a
//     table (sums.go)
//   - candidates, where a counter orders or bounds the rows of one table: candidates.go,
//     firstrows.go; whether a read computes the totals of many rows: fewrows.go
//   - rules and defects of one engine: groupby.go, nulls.go, row.go, exists.go, lookedup.go
//   - the form that also reports whether there are slots: observe.go; column types: typesquery.go;
//     EXPLAIN, cursors, CREATE TABLE AS and the like: reads.go
//
// Writes:
//
//   - what INSERT, UPDATE and DELETE have in common (dml): dml.go, wellformed.go; UPDATE: update.go,
//     updatejoin.go; INSERT (insertion): insert.go, upsert.go, upsertrows.go, upsertslot.go
//   - what counts as an increment: additive.go, cases.go, clamp.go; on the base row: exact.go; in a
//     slot (slotWriter): slotted.go, companion.go, and shared by executions coalesce.go
//   - shared statements on the base row: grouped_plan.go and grouped_set.go (grouper); of upserts
//     (upsertGrouper), with guards (groupGuards), under CHECK constraints (checkConstraints): the
//     other grouped_*.go
//   - counters with bounds (boundedForm): bounded.go, portion.go; numbers drawn: tickets.go
//   - rows that a transaction has changed itself: change.go
//
// Drains (class Drain):
//
//   - what is drained (drainer): drain.go, drainscope.go, drainwith.go
//   - without a fold if that is possible: proof.go, lockingread.go, asleep.go
//   - DDL, partitions and views (definitions): ddl.go, ancestors.go, references.go, holder.go
//
// Plans for statements that differ in literals only: shared_plan.go,
// sentinels.go, shared_generalize.go, fieldvalues.go.
//
// This package is exported for dialects outside this module. It has no compatibility
// promise before v1.
package rewrite

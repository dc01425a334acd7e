// Package rewrite plans statements: SQL and tables in, plan out. It does no I/O, and uses
// no clock, randomness, context or log. The same statement, tables and dialect always
// give the same plan, and planning changes nothing that it is given.
//
// A Planner takes the SQL of one call. SQL that names no counter table is passed through.
// Any other SQL is parsed by the Dialect into a Statement, a neutral form made for
// classifying and for splicing edits into the original SQL, and becomes a Plan. A plan
// has a Class, the SQL to send in place of the application's, and the origin of each
// argument. It holds no argument values and no slot numbers, so one plan serves every
// execution on every connection.
//
// If a parser rejects a statement, or a dialect cannot represent it faithfully, slotsql
// does not guess: the statement is planned as a drain, or refused with a reason. Offsets
// (Span) are bytes of the application's SQL. No statement makes planning panic, and its
// time and memory are bounded: a very large or deeply nested statement drains the tables
// whose names occur in it.
//
// This package is exported for dialects outside this module. It has no compatibility
// promise before v1.
package rewrite

// Package rewrite plans statements: SQL and tables in, plan out. It does no I/O
// and knows no clock, chance, context or log; the same statement, tables and
// dialect always give the same plan, and planning changes nothing it is given.
//
// A Planner takes the SQL of one call. SQL that names no
// counter table is passed through. Any other is parsed by its Dialect into a
// Statement, a neutral form made for deciding and splicing, and becomes a Plan:
// of a Class, with the SQL to send in place of the application's and where
// each of their arguments comes from. A plan holds no argument values and no
// slot numbers, so one serves every execution on every connection.
//
// What a parser rejects or a dialect does not carry faithfully is never
// guessed at: it is planned as a drain, or refused with a reason. Offsets (Span)
// are bytes of the application's SQL. No statement makes planning panic, and its time and
// memory are bounded: very large or deep statements are drained for by the names in
// them.
package rewrite

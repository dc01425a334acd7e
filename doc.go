// Package slotsql wraps a database/sql driver so that counters stop queueing
// on their row lock. An application changes its driver name, lists its counter
// tables in a YAML file, and keeps every line of its SQL:
//
//	import _ "github.com/slotsql/slotsql/mysql"
//
//	db, err := sql.Open("mysql-slotsql", dsn) // reads slotsql.yaml
//
// An UPDATE x SET c = c + 1 becomes an upsert of one of many slot rows, a read
// of c becomes an exact sum, and everything else that touches c stays exactly
// right by a drain: the slots are folded into the row under lock, then the
// application's own SQL runs.
//
// Whatever a program sees through slotsql it could have seen with the plain
// driver. A statement is fast, or slow and right, or refused with an error
// that says what to do; it is never silently wrong. What is not covered, such
// as writes of other programs that set a counter absolutely, is listed in
// docs/divergences.md.
//
// This package imports no database driver and no SQL parser. The packages
// mysql, postgres and sqlite bring theirs.
package slotsql

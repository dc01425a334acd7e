// Package slotsql wraps a database/sql driver so that counters stop queueing on their row
// lock. An application changes its driver name, lists its counter tables in a YAML file,
// and keeps every line of its SQL:
//
//	import _ "github.com/slotsql/slotsql/mysql"
//
//	db, err := sql.Open("mysql-slotsql", dsn) // reads slotsql.yaml
//
// Concurrent increments of one row, such as UPDATE x SET c = c + 1 WHERE id = 7, share
// one statement, or go to several slot rows while transactions hold the row. A read of c
// returns the exact sum. Everything else that touches c stays exact by a drain: the slots
// are folded into the row under lock, and then the application's own SQL runs.
//
// Whatever a program sees through slotsql it could have seen with the plain driver. A
// statement is fast, or slower and exact, or refused with an error that says what to do;
// it is never silently wrong. docs/divergences.md lists what is not covered, such as
// writes of other programs that set a counter.
//
// This package imports no database driver and no SQL parser. The packages mysql, postgres
// and sqlite import theirs.
package slotsql

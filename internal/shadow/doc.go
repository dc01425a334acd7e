// Package shadow observes tables with mode shadow. A Shadower plans each statement
// on them as if they were on, counts it by class and reason (Totals), and runs a
// sample of the reads both ways to compare the rows.
//
// It changes nothing: the application gets the result of its own statement, and the
// comparison runs on a connection of its own.
package shadow

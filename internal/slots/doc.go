// Package slots decides which slot an increment adds to, and which increments
// share a statement. Placement gives out the slots of a row, each to one increment
// at a time; Coalescer makes batches of increments that overlap; Habit learns
// whether transactions lock the base row before they increment it.
//
// It has no SQL and no connection. Nothing but speed depends on its answers: every
// slot is exact.
package slots

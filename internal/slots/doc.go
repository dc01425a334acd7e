// Package slots decides which slot an increment adds to, and which increments share a statement.
//
//   - Heat tells which rows are hot: increments of these go to slots, all others to the base row.
//   - Coalescer lets increments that overlap share a statement. An increment is a Member of a
//     Group, and the members of one statement are a Batch (coalesce.go, batch.go, member.go).
//     Turn is for the increments that meet no other, nearly all of them.
//   - Placement gives out the slots of a row, each to one increment at a time. Processes begin at
//     different slots, by a lease (lease.go).
//   - Habit learns whether transactions drain the rows that they have counted, and so should lock
//     the base row first.
//   - Sleep tells whether a table has slots, since when and why.
//   - Portions and Tickets are for counters with bounds and for numbers drawn from leased blocks.
//
// It has no SQL and no connection. Which slot is used, and whether one is, makes a difference in speed only. Totals do
// depend on Coalescer, which puts each increment into one statement, and numbers on Tickets, which gives each to one caller.
package slots

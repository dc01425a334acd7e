// Package session is the connection that database/sql gets, and one statement's life on it.
//
// A statement comes through Conn.ExecContext or Conn.QueryContext (door.go) or
// through a prepared statement (stmt.go):
//
//  1. Conn.Plan finds its plan, or has package rewrite make one (planned.go). A statement that
//     slotsql has no part in goes to the parent driver here, byte for byte.
//  2. Run.run executes the plan: in the first of its class's ways that does it (ways.go). An
//     increment runs on its base row (increment.go), in a group with others (grouped.go) or in a
//     slot (slotincrement.go); a read as it is, or with totals in place of counters (query.go);
//     anything else as it is while there are no slots (asleep.go, proven.go), or behind a drain
//     (drain.go).
//  3. The statements are sent to the parent driver, as they are or prepared (send.go).
//  4. Conn.noteRan notes what the statement has done to the session: to its transaction
//     (tx.go), and to the rows that the transaction has changed (rowchange.go).
//  5. The application gets the result that its own statement would have had (result.go,
//     columntype.go).
//
// Conn has the state of one session, Run that of one execution, and Shared what all connections of
// a connector have in common. Connections of slotsql's own, beside the application's, are in
// sidepool.go, observer.go and witness.go.
//
// The package starts no work that no statement has asked for, and knows nothing of roll-ups.
// docs/contributing/architecture.md walks through it with examples.
package session

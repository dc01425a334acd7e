// Package session is the connection that database/sql gets. Conn, its prepared
// statements, transactions and rows implement the driver interfaces, and delegate
// to the parent what slotsql has no part in. A Run is one execution of a plan:
// bind its arguments, choose the slot, send its statements, adapt the result.
// Shared is what all connections of a connector have in common.
//
// It starts no goroutine of its own accord, and knows nothing of roll-ups. Begin
// with conn.go and execute.go; docs/contributing/architecture.md has the walks.
package session

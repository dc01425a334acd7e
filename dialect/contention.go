package dialect

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// An Observer reads which sessions wait for which others from the server's own views. It
// changes nothing and waits for nothing.
type Observer interface {
	// Waits returns the sessions that are waiting for a lock.
	Waits(ctx context.Context, s Session) ([]Wait, error)
	// Statements returns statements that sessions of the database are running, or have
	// run last, as far as the server still has them.
	Statements(ctx context.Context, s Session) ([]string, error)
	// Totals returns numbers that the server only counts up, with what they count. They
	// include what occasional looks miss.
	Totals(ctx context.Context, s Session) ([]Total, error)
	// Rights returns what the session may not see.
	Rights(ctx context.Context, s Session) ([]Lack, error)
	// Locked returns the values of the table's key in the row that a session waits for;
	// nil if they cannot be found out, or no longer. A transaction that has read the wait and
	// keeps its snapshot finds the row though it has changed since.
	Locked(ctx context.Context, s Session, t *schema.Table, key []string, w *Wait) ([]string, error)
}

// Wait is a session that waits for another session's lock.
type Wait struct {
	Waiter, Holder string // the server's numbers of the sessions
	// Execution identifies the statement's execution that waits, the same however often one looks.
	Execution     string
	Schema, Table string // "" when the wait is not for a table's row
	// Row names the row, as the server does: see Locked.
	Row, Index string
	Kind       string // of the lock, in the server's words
	For        time.Duration
	// Statement is what the waiter runs, Holding what the holder runs or has run
	// last, "" when unknown. Cut reports whether the server has cut the first one off.
	Statement, Holding string
	Cut                bool
	// Idle reports whether the holder runs nothing: its transaction is open.
	Idle bool
}

// Total is a number that only grows.
type Total struct {
	What  string
	Value int64
}

// Lack is something that a session may not see, and the statement that grants it.
type Lack struct {
	What  string `json:"what"`
	Grant string `json:"grant"`
}

// A DeadlockReader is for a server that remembers its latest deadlock.
type DeadlockReader interface {
	// Deadlock returns the latest deadlock in the session's database; nil if there was
	// none, or another database has had one since.
	Deadlock(ctx context.Context, s Session) (*Deadlock, error)
}

// Deadlock describes a cycle of waiting sessions, at the moment when the server chose a
// victim.
type Deadlock struct {
	At            string // by the server's clock
	Schema, Table string // of a lock that was waited for
	Statements    []string
}

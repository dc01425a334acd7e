package dialect

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// An Observer sees who waits for whom in a server, by its own views. It changes
// nothing and waits for nothing.
type Observer interface {
	// Waits returns who waits for a lock at this moment.
	Waits(ctx context.Context, s Session) ([]Wait, error)
	// Statements returns statements that sessions of the database run, or have run
	// last, as far as the server still has them.
	Statements(ctx context.Context, s Session) ([]string, error)
	// Totals returns numbers that the server only counts up, by what they count:
	// what a look now and then misses.
	Totals(ctx context.Context, s Session) ([]Total, error)
	// Rights says what the session may not see.
	Rights(ctx context.Context, s Session) ([]Lack, error)
	// Locked returns the values of a table's key, of the row that a session waits
	// for; nil when that is not to be found out, or not any more.
	Locked(ctx context.Context, s Session, t *rewrite.Table, key []string, w *Wait) ([]string, error)
}

// Wait is one session that waits for another one's lock.
type Wait struct {
	Waiter, Holder string // the server's numbers of the sessions
	Schema, Table  string // "" when the wait is not for a table's row
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

// Lack is something that a session may not see, and the statement that lets it.
type Lack struct {
	What  string `json:"what"`
	Grant string `json:"grant"`
}

// A DeadlockReader has a server that keeps its latest deadlock.
type DeadlockReader interface {
	// Deadlock returns the latest deadlock of the session's database; nil when
	// there is none, or another database has had one since.
	Deadlock(ctx context.Context, s Session) (*Deadlock, error)
}

// Deadlock is who waited for whom in a circle, when the server ended one of
// them.
type Deadlock struct {
	At            string // by the server's clock
	Schema, Table string // of a lock that was waited for
	Statements    []string
}

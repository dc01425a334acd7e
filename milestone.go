package slotsql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"sync/atomic"
)

// MilestoneTable is the table in which milestones that have been reached are noted. Milestone.Create
// makes it.
const MilestoneTable = "slotsql_milestones"

// A Milestone answers the question "was I the one-millionth?". An increment in a slot does not
// return the total, and with several processes no increment knows its own number. So each caller
// asks after its increment, and Reached returns true to exactly one: the first that reads a total
// of at least that number.
//
// The bound of its error: let L be the largest number of other increments that are committed between
// a caller's own increment and the answer to its question. If every increment is asked
// about, and the total only grows, the increment whose caller gets true has a number from At-L to
// At+L. To see this, let w be that number. If w is less than At, the At-th increment was committed after w and
// before w's caller read the total: within its L. If w is more than At, the caller of the At-th
// increment had no answer yet when w was committed, or it would have been the first: so w is
// within that caller's L. L is about the number of callers at work at the same time, if each asks
// at once.
//
// Until the number is reached, a question costs one read of the total; after that, nothing. A
// Milestone is safe for concurrent use.
type Milestone struct {
	id    string // hexadecimal, so that it needs no placeholder, which engines write differently
	at    int64
	query string
	args  []any
	over  atomic.Bool // the number has been reached, and another caller's answer is committed
}

// Querier is a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// NewMilestone returns a milestone. The name tells it from others, in all processes; the query,
// with its arguments, returns the total in one row with one column, such as
// SELECT views FROM posts WHERE id = ?. at must be positive; the query must run through
// slotsql, so that it returns the total.
func NewMilestone(name string, at int64, query string, args ...any) *Milestone {
	return &Milestone{id: fmt.Sprintf("%x", sha256.Sum256([]byte(name))), at: at, query: query, args: args}
}

// Create creates MilestoneTable where it is missing, and the milestone's row in it. It may be
// called by every process that starts.
func (m *Milestone) Create(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+MilestoneTable+
		" (id CHAR(64) NOT NULL PRIMARY KEY, reached INT NOT NULL)"); err != nil {
		if _, err2 := m.row(ctx, db); err2 != nil { // two at once: PostgreSQL fails one of them
			return fmt.Errorf("slotsql: create %s: %w", MilestoneTable, err)
		}
	}
	// Looking first, and not in the INSERT, keeps processes that start at once from a deadlock: on
	// InnoDB the look of an INSERT locks the gap in which the others insert.
	if there, err := m.row(ctx, db); err != nil {
		return fmt.Errorf("slotsql: look for a milestone: %w", err)
	} else if there {
		return nil
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO "+MilestoneTable+" (id, reached) VALUES ('"+m.id+"', 0)"); err != nil {
		if there, err2 := m.row(ctx, db); err2 == nil && there {
			return nil // another process has made it meanwhile
		}
		return fmt.Errorf("slotsql: create milestone: %w", err)
	}
	return nil
}

// row reports whether the milestone has its row.
func (m *Milestone) row(ctx context.Context, q Querier) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+MilestoneTable+" WHERE id = '"+m.id+"'").Scan(&n)
	return n > 0, err
}

// Reached reports whether the caller's increment counts as the one that reached the number. Of all
// calls in all processes, one returns true.
//
// Call it after the increment is committed, with a *sql.DB. The answer true is committed before
// Reached returns: if the process dies right after it, no other caller gets true. For work that must be
// done exactly once, begin a transaction, call Reached with its *sql.Tx and do the work in it: both
// are committed or neither, and after a rollback the next caller gets true. Other callers that reach
// the number wait for that transaction. Errors are those of the database, and leave the answer to the
// next caller. A query that returns no row gives sql.ErrNoRows.
func (m *Milestone) Reached(ctx context.Context, q Querier) (bool, error) {
	if m.over.Load() {
		return false, nil
	}
	var total int64
	if err := q.QueryRowContext(ctx, m.query, m.args...).Scan(&total); err != nil {
		return false, fmt.Errorf("slotsql: read the total of a milestone: %w", err)
	}
	if total < m.at {
		return false, nil
	}
	// One statement, which waits for another one that does the same and changes the row for
	// one of them only.
	res, err := q.ExecContext(ctx, "UPDATE "+MilestoneTable+" SET reached = 1 WHERE id = '"+m.id+"' AND reached = 0")
	if err != nil {
		return false, fmt.Errorf("slotsql: record that a milestone is reached: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil || n > 0 {
		return n > 0, err
	}
	switch there, err := m.row(ctx, q); {
	case err != nil:
		return false, fmt.Errorf("slotsql: look for a milestone: %w", err)
	case !there:
		return false, fmt.Errorf("slotsql: the milestone has no row in %s: call Create", MilestoneTable)
	}
	if _, alone := q.(*sql.DB); alone {
		m.over.Store(true) // and committed; in a transaction it may have been its own
	}
	return false, nil
}

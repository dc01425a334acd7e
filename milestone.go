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
// return the total, and with several processes no increment knows its own number. So whoever has
// incremented asks, and exactly one is told true: the first whose look at the total finds
// at least that number.
//
// The bound of its error: let L be the largest number of other increments that are committed between
// a caller's own increment and the answer to its question. If every increment is asked
// about, and the total only grows, the increment told true is one of the numbers At-L to At+L.
// For let w be its number. If w is less than At, the At-th increment was committed before its
// look, and after it: within its own L. If w is more than At, the caller of the At-th increment
// has not had its answer yet when w is told, or it would have been the first: so w was
// committed within that one's L. Who asks at once has an L of about the callers that are
// under way.
//
// Until the number is reached a question costs one read of the total; once another caller has
// been told, none. It is safe for concurrent use.
type Milestone struct {
	id    string // hexadecimal, so that it needs no placeholder, which engines write differently
	at    int64
	query string
	args  []any
	over  atomic.Bool // somebody has been told
}

// Querier is a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// NewMilestone returns a milestone. The name tells it from others, in all processes; the query,
// with its arguments, returns the total in one row with one column, such as
// SELECT views FROM posts WHERE id = ?.
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
	_, err := db.ExecContext(ctx, "INSERT INTO "+MilestoneTable+" (id, reached) SELECT '"+m.id+"', 0 FROM (SELECT 1 AS one) AS o "+
		"WHERE NOT EXISTS (SELECT 1 FROM "+MilestoneTable+" WHERE id = '"+m.id+"')")
	if err != nil {
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

// Reached reports whether the caller, who has incremented the counter, is the one to be told that
// it has reached the number. Of all calls in all processes one returns true, once.
//
// Ask when the increment is committed, with a *sql.DB. That it was told is committed before
// Reached returns: a caller that is lost between that and what it goes on to do has been told all
// the same. What is to be done exactly once belongs into a transaction, with its
// *sql.Tx here: both are committed, or neither, and the next one to ask is told. Others that
// reach the number wait for that transaction. Errors are those of the database; the next one to ask
// may be told. A query that returns no row gives sql.ErrNoRows.
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
		return false, fmt.Errorf("slotsql: note that a milestone is reached: %w", err)
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

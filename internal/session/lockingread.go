package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// In a transaction of the application's, SELECT ... FOR UPDATE of one row takes the very lock that
// its drain would take first. So if slots are looked for after the lock (named.go), the query
// itself comes first, with the columns that the lock statement would return after its own. If the
// row turns out to have no slots, as is nearly always so, the query has returned what it would
// have returned after the drain. Otherwise its rows are thrown away, the slots are folded, and the
// query runs again.

// lockingRead is such a query.
type lockingRead struct {
	due  bool          // it has not run yet
	rows *bufferedRows // its row, as long as no slots have been found; else nil
}

// lockByRead locks the row of a drain by the application's query. It returns what the drain's lock
// statement would have returned; nil if that has to run.
func (dr *drain) lockByRead(ctx context.Context, d *rewrite.DrainTable) ([][]any, error) {
	c, query := dr.conn, dr.form.LockingRead
	due := dr.first.due
	dr.first.due = false
	if !due || query == nil || !dr.mayLockByRead(d) {
		return nil, nil
	}
	rows, err := dr.run.queryAsCalled(ctx, query.SQL.Of(dr.run.Plan.Values))
	if rows == nil && err == nil {
		return nil, nil
	}
	var b *bufferedRows
	if err == nil {
		b, err = readBuffered(rows)
	}
	if err != nil {
		if ctx.Err() != nil || !c.Engine.NotApplied(err) || c.Engine.Retryable(err) {
			return nil, err
		}
		return nil, nil // a base value may be out of range where the total is not
	}
	if len(b.rows) != 1 {
		return nil, nil
	}
	row, n := b.rows[0], len(b.columns)-query.Columns
	locked := make([]any, query.Columns)
	for i, v := range row[n:] {
		locked[i] = v
	}
	b.rows[0], b.columns, b.columnTypes = row[:n], b.columns[:n], b.columnTypes[:n]
	dr.first.rows = b
	c.Tx.LocksOnly(true)
	return [][]any{locked}, nil
}

// mayLockByRead reports whether the drain is one of a row of the application's own transaction, on a
// single server, whose slots are looked for after the lock.
func (dr *drain) mayLockByRead(d *rewrite.DrainTable) bool {
	c := dr.conn
	return !c.Tx.Own() && !c.Cluster && lockOfKey(d) && d.Folding == rewrite.FoldByName && len(d.Lock) == 1 &&
		len(dr.run.call.options) == 0 && len(d.Table.Counter.Rights.Ungranted) == 0 && !c.Rare.Any(link.RoleSet) &&
		!dr.run.partsStay && !dr.run.recalls()
}

// queryAsCalled runs SQL that takes the application's arguments by the protocol of the
// application's call, since the Go types of values depend on that. It returns nil if the prepared
// statement is in use.
func (r *Run) queryAsCalled(ctx context.Context, sql string) (driver.Rows, error) {
	c := r.conn
	if _, unprepared := r.sender.(direct); unprepared {
		if rows, err := c.QueryUnprepared(ctx, sql, r.call.args); err != driver.ErrSkip {
			return rows, err
		}
	}
	return c.Kept.Query(ctx, &c.Conn, sql, sql, r.call.args)
}

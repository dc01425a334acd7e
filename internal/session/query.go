package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// runRead runs a statement that reads totals.
func (r *Run) runRead(ctx context.Context) (a answer, err error) {
	if c := r.conn; len(c.changes)+len(c.late) == 0 {
		r.noteRead()
	} else if a.rows, err = r.readChanges(ctx); a.rows != nil || err != nil {
		return a, err
	}
	if a.rows, err = r.observe(ctx); a.rows != nil {
		r.Plan.tally.readObserved()
	}
	if a.rows != nil || err != nil {
		return a, err
	}
	if a.rows, err = r.foldFirst(ctx); a.rows != nil {
		r.Plan.tally.foldedFirst()
	}
	if a.rows != nil || err != nil {
		return a, err
	}
	before := r.Plan
	if err := r.CheckStars(ctx); err != nil {
		return answer{}, err
	} else if r.Plan != before && r.Plan.Class != rewrite.Read {
		return r.runClass(ctx)
	}
	return r.readExact(ctx)
}

// readChanges is called before a read in a transaction that has changed rows. It either reads the rows itself, or drains the changed
// rows of the tables and returns no rows.
func (r *Run) readChanges(ctx context.Context) (driver.Rows, error) {
	if r.call.wantsRows {
		if rows, err := r.queryHeld(ctx); rows != nil || err != nil {
			return rows, err
		}
	}
	return nil, r.drainChanges(ctx)
}

// readExact runs the statement in the way that is exact beside slots.
func (r *Run) readExact(ctx context.Context) (a answer, err error) {
	var types []ColumnType
	if r.call.wantsRows {
		if r.Plan.Read.Types != nil {
			if types, err = r.queryShape(ctx); err != nil {
				return answer{}, err
			}
		}
	}
	if err := r.readCommitted(ctx); err != nil { // for the one statement that follows
		return answer{}, err
	}
	if !r.call.wantsRows || len(r.Plan.Base.Changes) > 0 {
		return r.runOnBase(ctx)
	}
	r.Plan.tally.readExact()
	a, err = r.send(ctx)
	if err == nil && r.conn.Shared.Traits.LateErrors {
		a.rows, err = r.firstRow(a.rows)
	}
	if err == nil && types != nil {
		a.rows = r.withTypes(a.rows, types)
	}
	return a, err
}

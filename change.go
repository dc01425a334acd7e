package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// A text that changes rows of a counter table and runs on the base rows as they
// are: what it has changed is remembered, see own.go.

// execChanging runs such a text.
func (r *run) execChanging(ctx context.Context) (driver.Result, error) {
	first, err := r.changesFirst(ctx)
	switch {
	case err != nil:
		return nil, err
	case first:
		return r.drainingFirst().execDrained(ctx)
	}
	if r.conn.inAutocommit() {
		return r.execWhole(ctx, r.execText)
	}
	r.changesOwn(r.plan.Changes)
	res, n, err := r.execTouching(ctx)
	if err != nil {
		return nil, err
	}
	r.changed(n)
	if err := r.hold(ctx, r.plan.Changes); err != nil {
		return nil, err
	}
	return res, nil
}

// queryChanging runs one that may return rows.
func (r *run) queryChanging(ctx context.Context, changes []rewrite.DrainTable) (driver.Rows, error) {
	first, err := r.changesFirst(ctx)
	switch {
	case err != nil:
		return nil, err
	case first:
		return r.drainingFirst().queryDrained(ctx)
	case r.conn.inAutocommit():
		return r.queryText(ctx)
	}
	r.changesOwn(changes)
	how := onBase
	if r.plan.Fresh {
		how = inserted
	}
	for _, d := range changes {
		r.note(d, how) // it may change them
	}
	held := false
	for i := range changes {
		h, err := r.conn.conflicts(ctx, changes[i].Table)
		if err != nil {
			return nil, err
		}
		held = held || h
	}
	if !held {
		return r.queryText(ctx)
	}
	rows, _, err := r.queryTouching(ctx)
	if err == nil {
		err = r.hold(ctx, changes)
	}
	return rows, err
}

// changesFirst says that the rows are to be drained before the text changes
// them.
func (r *run) changesFirst(ctx context.Context) (bool, error) {
	if r.plan.Fresh || len(r.plan.Changes) != 1 || r.conn.inAutocommit() {
		return false, nil
	}
	return r.locksFirst(ctx, &r.plan.Changes[0])
}

// drainingFirst is the same statement with its rows drained for.
func (r *run) drainingFirst() *run {
	own, first := *r, *r.plan.Plan
	first.Class, first.Drains, first.Reason = rewrite.Drain, r.plan.Changes, "a transaction reads counters of a table and changes it"
	own.plan = &plan{Plan: &first, tally: r.plan.tally}
	return &own
}

// hold drains rows that the transaction has just changed where it must not have
// changed what is newer.
func (r *run) hold(ctx context.Context, changes []rewrite.DrainTable) error {
	for i := range changes {
		t := changes[i].Table
		held, err := r.conn.conflicts(ctx, t)
		if err == nil && held {
			err = r.conn.settleTables(ctx, []*rewrite.Table{t})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdIncrement does it for an increment.
func (r *run) holdIncrement(ctx context.Context) error {
	if len(r.conn.looked) == 0 {
		return nil
	}
	return r.hold(ctx, []rewrite.DrainTable{r.plan.Increment.Row})
}

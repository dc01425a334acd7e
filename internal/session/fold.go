package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A fold deletes slots, so it must be certain that the base rows have what they held.
// That an UPDATE has run says little: row security hides rows, a trigger returns NULL
// or stores another value, a column's type has changed. So what arrives is compared
// with what leaves, key by key, in the fold's own transaction, and while both are
// locked: by the one statement that does both (PostgreSQL), or by a query between the
// statement that adds and the one that deletes. If they differ, the fold fails, and its
// transaction cannot be committed with a part of it.

// fold runs the statements of a drain that move slots into base rows.
func (r *Run) fold(ctx context.Context, d *rewrite.DrainTable) (err error) {
	for i := range d.Fold {
		if d.Look.Unmoved != nil && i == len(d.Fold)-1 {
			err = r.conserved(ctx, d)
		}
		if err == nil {
			_, err = r.step(ctx, &d.Fold[i])
		}
		if err != nil {
			// It may have been run all the same.
			if (i > 0 || ctx.Err() != nil) && !r.conn.Engine.TxEnded(err) {
				r.conn.Drain.Fail()
			}
			return r.conn.Engine.Refused(d.Table, err)
		}
	}
	// A parent may report success of what it has not run where the context ends meanwhile (glebarez/go-sqlite).
	if err = ctx.Err(); err != nil {
		r.conn.Drain.Fail()
	}
	return err
}

// conserved fails when a base row has not taken what its slots hold.
func (r *Run) conserved(ctx context.Context, d *rewrite.DrainTable) error {
	args, err := r.bind(d.Look.Unmoved.Args)
	if err != nil {
		return err
	}
	rows, err := r.conn.ParentQuery(ctx, r.sql(d.Look.Unmoved), args)
	if err != nil {
		return err
	}
	reasons, err := link.Collect(rows)
	if err == nil && len(reasons) > 0 {
		err = link.ErrUnmoved(link.TextOf(reasons[0][0]))
	}
	return err
}

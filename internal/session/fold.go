package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A fold deletes slots, so it must be certain that the base rows have taken what they held. That
// an UPDATE has succeeded is no proof: row security may hide rows, a trigger may return NULL or
// store another value, a column's type may have changed. So what arrives is compared with what
// leaves, key by key, in the fold's own transaction while both are locked: by the one statement
// that does both (PostgreSQL), or by a query between the statement that adds and the one that
// deletes. If they differ the fold fails, and its transaction cannot be committed half done.

// fold runs the statements of a drain that move slots into base rows.
func (dr *drain) fold(ctx context.Context, d *rewrite.DrainTable) (err error) {
	for i := range d.Fold {
		if d.Look.Unmoved != nil && i == len(d.Fold)-1 {
			err = dr.conserved(ctx, d)
		}
		if err == nil {
			_, err = dr.run.step(ctx, &d.Fold[i], nil)
		}
		if err != nil {
			// The server may have run it all the same.
			if (i > 0 || ctx.Err() != nil) && !dr.conn.Engine.TxEnded(err) {
				dr.conn.Drain.Fail()
			}
			return dr.conn.Engine.ExplainNotMoved(d.Table, err)
		}
	}
	// If the context ends meanwhile, a parent may report success although it has not run the
	// statement (glebarez/go-sqlite).
	if err = ctx.Err(); err != nil {
		dr.conn.Drain.Fail()
	}
	return err
}

// conserved returns an error if a base row has not taken what its slots hold.
func (dr *drain) conserved(ctx context.Context, d *rewrite.DrainTable) error {
	args, err := dr.run.bind(d.Look.Unmoved.Args, nil)
	if err != nil {
		return err
	}
	rows, err := dr.conn.ParentQuery(ctx, dr.run.sql(d.Look.Unmoved), args)
	if err != nil {
		return err
	}
	reasons, err := link.Collect(rows)
	if err == nil && len(reasons) > 0 {
		err = link.ErrUnmoved(link.TextOf(reasons[0][0]))
	}
	return err
}

package slotsql

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// A READ ONLY transaction (MySQL) may read a view over a counter table, lock rows in share
// mode and call a routine that reads, but a drain cannot fold in it. So the slots
// are folded in a transaction of slotsql's own, on another connection, which
// commits. Increments may come in between, so the slots are looked for twice: as
// the transaction sees them, and, locked in share mode with the gaps between them,
// as they are. When neither finds any the base values are the totals, in the
// transaction's snapshot and beside it, and nobody makes slots until it ends: the
// text runs as it is. Where something has come in between, or is in a snapshot that
// is older than the fold, that is tried again in a transaction of the statement's
// own; in the application's the statement fails with the engine's own error, and so
// it does below REPEATABLE READ, where gaps are not locked.

// maxReadOnlyTries bounds how often increments may come in between.
const maxReadOnlyTries = 10

// besideGaps runs a text in a READ ONLY transaction, the session's or one of its own.
func (r *run) besideGaps(ctx context.Context, d dialect.ReadOnlyErrorClassifier, text func() error) error {
	c := r.conn
	open, err := c.inTransaction(ctx)
	if err != nil {
		return err
	}
	if open && r.heldBare() {
		return text()
	}
	if open {
		if locks, err := r.locksGaps(ctx, d); err != nil || !locks {
			return cmp.Or(err, d.ErrReadOnly())
		}
	}
	for tries := 0; ; tries++ {
		if err := r.foldAside(ctx); err != nil {
			return err
		}
		if !open {
			if err := r.control(ctx, d.NextRepeatableRead()); err != nil {
				return err
			}
		}
		end, err := c.begin(ctx)
		if err != nil {
			return err
		}
		bare, err := r.holdBare(ctx)
		if err == nil && bare {
			if open {
				r.foundBare()
			}
			return end(text())
		}
		if err == nil && (open || tries >= maxReadOnlyTries) {
			err = d.ErrReadOnly()
		}
		if eerr := end(err); eerr != nil {
			return eerr
		}
	}
}

// heldBare reports whether the transaction has found before that the tables have no
// slots.
func (r *run) heldBare() bool {
	return !slices.ContainsFunc(r.plan.Drains, func(d rewrite.DrainTable) bool {
		return !slices.Contains(r.conn.bare, d.Table.Counter.Slotted())
	})
}

// locksGaps reports whether the transaction that is open is at REPEATABLE READ or
// above.
func (r *run) locksGaps(ctx context.Context, d dialect.ReadOnlyErrorClassifier) (bool, error) {
	if begun := sql.IsolationLevel(r.conn.begun); begun != sql.LevelDefault {
		return begun >= sql.LevelRepeatableRead, nil
	}
	return d.LocksGaps(ctx, r.conn.session())
}

// foldAside drains the tables on a connection of slotsql's own.
func (r *run) foldAside(ctx context.Context) error {
	raw, err := r.conn.shared.connect(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	c := ownConn(ctx, r.conn.shared, raw)
	if err := c.waitsBriefly(ctx); err != nil {
		return err
	}
	return c.inTx(ctx, func() error {
		_, err := r.wholeTables(c).drain(ctx)
		return err
	})
}

// holdBare reports whether the tables have no slots, as the transaction sees them
// and as they are, and keeps it so.
func (r *run) holdBare(ctx context.Context) (bool, error) {
	for _, lock := range []string{"", " LOCK IN SHARE MODE"} {
		for _, d := range r.plan.Drains {
			some, err := r.conn.session().Query(ctx, rewrite.FullSlots(r.conn.dialect(), d.Table)+lock)
			if err != nil || len(some) > 0 {
				return false, err
			}
		}
	}
	return true, nil
}

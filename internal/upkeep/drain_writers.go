package upkeep

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Draining a table without locking its base rows.
//
// Usually the roll-up has moved all that slots held, and nothing is left to do under a lock
// but to make sure of that. On MySQL the lock of a drain is on each base row, which takes
// seconds for millions of them, and every writer waits. A lock of the slot table against
// writers proves as much: it is granted only if no transaction has changed slot rows and no
// increment is under way, and while it is held there will be none.

// writerTries bounds how often the lock is asked for, and how often slots are found under
// it, before the base rows are locked.
const writerTries = 5

// settled tries the lock against writers instead of that of the base rows, and reports whether the table is
// drained.
func (d *drainer) settled(ctx context.Context, t *schema.Table, r *DrainReport) (done bool, err error) {
	for range writerTries {
		if may, err := d.canLockWriters(ctx); err != nil || !may {
			return false, err
		}
		if _, err := d.move(ctx, t, r, rollup.MoveSlots, rollup.SweepSlots); err != nil {
			return false, err
		}
		locked, err := d.withoutWriters(ctx, t, func(statements dialect.RollUp) error {
			n, err := d.present(ctx, statements.Find, statements.Idle)
			if done = err == nil && n == 0; done {
				r.Empty = time.Now()
			}
			return err
		})
		if err != nil || done || !locked {
			return done, err
		}
	}
	return false, nil
}

// canLockWriters opens the connection, and reports whether the engine has such a lock and it
// holds for all writers.
func (d *drainer) canLockWriters(ctx context.Context) (bool, error) {
	if _, ok := d.shared.Dialect.(dialect.WriterLocker); !ok {
		return false, nil
	}
	err := d.open(ctx)
	return err == nil && !d.conn.Cluster, err
}

// withoutWriters runs f with all writers kept out of the slot table, and reports whether it
// could: not where a transaction that has written stays open, nor for an account without the
// right to lock tables. It asks without waiting at first, because new writers wait behind a
// lock that waits.
func (d *drainer) withoutWriters(ctx context.Context, t *schema.Table, f func(dialect.RollUp) error) (locked bool, err error) {
	if may, err := d.canLockWriters(ctx); err != nil || !may {
		return false, err
	}
	var unlock []string
	for attempt := 0; ; attempt++ {
		var lock []string
		lock, unlock = d.shared.Dialect.(dialect.WriterLocker).LockWriters(t, attempt >= writerTries)
		err := d.conn.Session().ExecAll(ctx, lock)
		if err == nil {
			break
		}
		if !d.conn.Engine.Retryable(err) || attempt > writerTries {
			return false, ctx.Err()
		}
		if err := d.mover.Rest(ctx, true, min(attempt, 2)); err != nil {
			return false, err
		}
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), link.EndPatience)
		defer cancel()
		if d.conn.Session().ExecAll(clean, unlock) != nil {
			d.close() // the lock goes with the connection
		}
	}()
	return true, f(d.mover.Statements(t, nil))
}

package slotsql

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/rollup"
)

// RollUpOptions are the options of RollUp and RunRollUp. A zero field takes its value
// from the configuration, or has a default.
type RollUpOptions struct {
	// Interval is the time between two passes of RunRollUp. The default is the
	// configuration's rollup.interval, or else 5 s.
	Interval time.Duration
	// Batch is the maximum number of slot rows that a transaction moves, except that the
	// slots of one base row stay together. Batches become smaller if they take long. The
	// default is the configuration's rollup.batch, or else 1000.
	Batch int
	// Idle is how often empty slot rows are deleted. A slot row is deleted once it has been
	// empty at least since the previous such pass. The default is the configuration's
	// rollup.idle, or else one minute.
	Idle time.Duration
	// Lease is how long a worker that has crashed keeps others from taking over, in whole
	// seconds. The default is 15 s.
	Lease time.Duration
	// Progress, if set, is called after each batch with the number of its slot rows.
	Progress func(rows int)
	// Pass, if set, is called after each pass of RunRollUp.
	Pass func(RollUpReport, error)
}

// RollUpReport is the result of one pass over the tables: Held is false if another worker
// has the lease, Tables is what the pass did to each table, and Took how long it took.
// Moved returns the number of slot rows that were moved into base rows.
type RollUpReport = rollup.Report

// RollUpTable is what a pass did to one table. Numbers are slot rows unless stated
// otherwise:
//
//   - Table is the table's name.
//   - Moved went into base rows. Merged are those of a journal that were put together,
//     because other transactions had the base row locked.
//   - Deleted were empty. Orphans were deleted because their base row does not exist.
//   - Skipped were locked by other transactions, or their base rows were, or they could not
//     be moved.
//   - Conflicts is the number of batches that were rolled back by a deadlock or a lock
//     timeout.
//   - Errors is the number of base rows whose slots could not be moved for another reason,
//     and Err the last such reason.
type RollUpTable = rollup.Table

// RollUp goes over the tables once and moves what their slots hold into the base rows.
// Increments and queries go on meanwhile, and totals never change. Slots that another
// transaction has locked are skipped. If RollUp is interrupted, by ctx or a kill, nothing
// is left half done.
//
// If another worker holds the lease, RollUp does nothing, and the report's Held is false.
func RollUp(ctx context.Context, c *Connector, o RollUpOptions) (RollUpReport, error) {
	return rollup.Once(ctx, c.every.Catalog, rollup.Options(o))
}

// RunRollUp rolls up at intervals until ctx is done, and then returns nil. If several run
// on one database, in one process or in many, one is active and the others stand by. Only
// an error before the first pass ends it: after that, it keeps trying to reach a database
// that has become unreachable.
func RunRollUp(ctx context.Context, c *Connector, o RollUpOptions) error {
	return rollup.Run(ctx, c.every.Catalog, c.every.Made.Journal, rollup.Options(o))
}

// startRollUp starts the worker with the connector's first connection, if the
// configuration asks for one, and for slots.
func (c *Connector) startRollUp() {
	if c.shared.Config.RollupInterval() == 0 || c.shared.Folding.Rolling.Load() || !c.every.HasSlots() {
		return
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.rollUp != nil || c.closed {
		return
	}
	w, err := rollup.NewWorker(c.every.Catalog, rollup.Options{})
	if err != nil {
		return
	}
	w.Sleep = &c.shared.Folding.Sleep
	wake, journal := c.shared.Made.Wake, c.shared.Made.Journal
	c.shared.Folding.Rolling.Store(true)
	c.rollUp = work(func(ctx context.Context) {
		defer w.Close()
		// What has just been counted stays for one interval, too, except in a
		// journal.
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.Options.Interval):
		case <-wake:
		case <-journal:
		}
		w.Run(ctx, wake, journal)
	})
}

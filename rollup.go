package slotsql

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/rollup"
)

// RollUpOptions are the options of RollUp and RunRollUp. A zero field takes its value
// from the configuration, or has a default.
type RollUpOptions = rollup.Options

// RollUpReport is the result of one pass over the tables.
type RollUpReport = rollup.Report

// RollUpTable is what a pass did to one table. Numbers are slot rows unless
// stated otherwise.
type RollUpTable = rollup.Table

// RollUp goes over the tables once and moves what their slots hold into the base rows.
// Increments and queries go on meanwhile, and totals never change. Slots that another
// transaction has locked are skipped. If RollUp is interrupted, by ctx or a kill, nothing
// is left half done.
//
// If another worker holds the lease, RollUp does nothing, and the report's Held is false.
func RollUp(ctx context.Context, c *Connector, o RollUpOptions) (RollUpReport, error) {
	return rollup.Once(ctx, c.every.Catalog, o)
}

// RunRollUp rolls up at intervals until ctx is done, and then returns nil. If several run
// on one database, in one process or in many, one is active and the others stand by. Only
// an error before the first pass ends it: after that, it keeps trying to reach a database
// that has become unreachable.
func RunRollUp(ctx context.Context, c *Connector, o RollUpOptions) error {
	return rollup.Run(ctx, c.every.Catalog, c.every.Made.Journal, o)
}

// startRollUp starts the worker with the connector's first connection, if the
// configuration asks for one, and for slots.
func (c *Connector) startRollUp() {
	if c.shared.Config.RollupInterval() == 0 || c.shared.Rolling.Load() || !c.every.HasSlots() {
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
	wake, journal := c.shared.Made.Wake, c.shared.Made.Journal
	c.shared.Rolling.Store(true)
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

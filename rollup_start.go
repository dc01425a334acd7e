package slotsql

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/rollup"
)

// rollUpStarter runs a worker inside the application.
type rollUpStarter struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startRollUp starts the worker with the connector's first connection, where the
// configuration asks for one.
func (c *Connector) startRollUp() {
	if c.shared.Config.RollupInterval() == 0 || c.shared.Rolling.Load() {
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
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollUpStarter{cancel: cancel, done: make(chan struct{})}
	wake, journal := c.shared.Made.Wake, c.shared.Made.Journal
	c.rollUp = r
	c.shared.Rolling.Store(true)
	go func() {
		defer close(r.done)
		defer w.Close()
		// What has just been counted stays for one interval, too, but for what
		// is in a journal.
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.Options.Interval):
		case <-wake:
		case <-journal:
		}
		w.Run(ctx, wake, journal)
	}()
}

// stopRollUp ends the worker, after the batch that is under way.
func (c *Connector) stopRollUp() {
	c.starting.Lock()
	c.closed = true
	r := c.rollUp
	c.starting.Unlock()
	if r != nil {
		r.cancel()
		<-r.done
	}
}

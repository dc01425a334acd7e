package slotsql

import (
	"context"
	"sync/atomic"
	"time"
)

// manyRows is how many slot rows are too many to wait for the next pass: after a
// pass that has moved so many the next one follows at once, and a process that has
// made so many slot rows wakes its worker.
const manyRows = 10000

// run makes passes until ctx is done. Wake ends a wait early.
func (w *rollUpWorker) run(ctx context.Context, wake <-chan struct{}) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		w.release(ctx)
	}()
	failures := 0
	for {
		report, err := w.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		if w.options.Pass != nil {
			w.options.Pass(report, err)
		}
		wait := w.options.Interval
		switch {
		case err != nil:
			failures++
			wait = min(wait<<min(failures, 10), max(time.Minute, wait))
			if w.options.Pass == nil {
				w.shared.log().WarnContext(ctx, "slotsql: the roll-up has failed, and will be tried again", "in", wait, "error", err.Error())
			}
		case report.Moved() >= manyRows:
			failures, wait = 0, 0
		default:
			failures = 0
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-wake:
			timer.Stop()
		}
	}
}

// rollUpStarter runs a worker inside the application.
type rollUpStarter struct {
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// startRollUp starts the worker with the connector's first connection, where the
// configuration asks for one.
func (c *connector) startRollUp() {
	if c.shared.config.RollupInterval() == 0 || c.shared.rolling.Load() {
		return
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.rollUp != nil || c.closed {
		return
	}
	w, err := newRollUpWorker(c.shared, c.parent, RollUpOptions{})
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollUpStarter{wake: c.shared.made.wake, cancel: cancel, done: make(chan struct{})}
	c.rollUp = r
	c.shared.rolling.Store(true)
	go func() {
		defer close(r.done)
		defer w.close()
		// What has just been counted stays for one interval, too.
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.options.Interval):
		case <-r.wake:
		}
		w.run(ctx, r.wake)
	}()
}

// stopRollUp ends the worker, after the batch that is under way.
func (c *connector) stopRollUp() {
	c.starting.Lock()
	c.closed = true
	r := c.rollUp
	c.starting.Unlock()
	if r != nil {
		r.cancel()
		<-r.done
	}
}

// madeSlots counts the slot rows that the process may have made.
type madeSlots struct {
	n    atomic.Int64
	wake chan struct{}
}

// add counts one, and wakes the worker when there are many.
func (m *madeSlots) add() {
	if m.n.Add(1)%manyRows == 0 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

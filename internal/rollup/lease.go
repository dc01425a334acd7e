package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// lease is what a worker knows of its lease. The database has the lease itself, and each
// batch asks for it under a lock; see fence. What the worker knows only says when it is
// to be extended, and whether there may be something to give back.
type lease struct {
	state leaseState
	until time.Time // of leaseHeld: as far as is known
}

type leaseState byte

const (
	leaseNone    leaseState = iota // the database has none for this worker
	leaseInDoubt                   // it may have one: it was asked, and the answer is missing or no longer certain
	leaseHeld                      // it has one
)

// ask notes that the database is about to be asked for the lease.
func (l *lease) ask() { *l = lease{state: leaseInDoubt} }

// take notes that the database has given the lease, or extended it.
func (l *lease) take(until time.Time) { *l = lease{leaseHeld, until} }

// refuse notes that another worker has the lease.
func (l *lease) refuse() { *l = lease{} }

// doubt notes that the lease may have run out, or that the connection to ask has ended.
func (l *lease) doubt() {
	if l.state == leaseHeld {
		*l = lease{state: leaseInDoubt}
	}
}

// giveBack notes that the database has ended the lease.
func (l *lease) giveBack() { *l = lease{} }

// due reports whether the lease is to be taken or extended: less than a third of the time
// it is given for has passed where it is not.
func (l *lease) due(now time.Time, length time.Duration) bool {
	return l.state != leaseHeld || !now.Before(l.until.Add(-length*2/3))
}

// mayBeHeld reports whether the database may have the lease for this worker.
func (l *lease) mayBeHeld() bool { return l.state != leaseNone }

// fencer is where the lease is; nil where none is needed because only one
// connection writes at a time.
func (w *Worker) fencer() dialect.Fencer {
	f, ok := w.catalog.Dialect.(dialect.Fencer)
	if !ok || w.Free {
		return nil
	}
	return f
}

// hold takes the lease or extends it, when that is due.
func (w *Worker) hold(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	f := w.fencer()
	now := time.Now()
	if f == nil || !w.lease.due(now, w.Options.Lease) {
		return true, nil
	}
	w.lease.ask()
	held, err = f.Lease(ctx, w.Conn.Session(), leaseName, w.holder, int(max(w.Options.Lease/time.Second, 1)))
	if err != nil && w.Conn.Engine.SchemaChanged(err) {
		if !w.catalog.Config.AutoMigrate() {
			return false, fmt.Errorf("slotsql: the roll-up needs table %s: run `slotsql migrate`: %w", dialect.LeaseTable, err)
		}
		if err := w.Conn.Migrate(ctx, f.CreateLeases()); err != nil {
			return false, err
		}
		held, err = f.Lease(ctx, w.Conn.Session(), leaseName, w.holder, int(max(w.Options.Lease/time.Second, 1)))
	}
	switch {
	case held:
		w.lease.take(now.Add(w.Options.Lease))
	case err == nil:
		w.lease.refuse()
	case w.Conn.Engine.Retryable(err):
		return false, nil // another worker has locked its row: a batch is under way, or a take-over
	}
	return held, err
}

// release ends the lease, so that another worker need not wait for that. A pass that
// was cancelled has taken its connection with it; the lease is ended on a new one then.
func (w *Worker) release(ctx context.Context) {
	f := w.fencer()
	if f == nil || !w.lease.mayBeHeld() {
		return
	}
	w.lease.doubt()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	if w.connect(ctx) != nil {
		return
	}
	for attempt := 0; ; attempt++ {
		err := f.Release(ctx, w.Conn.Session(), leaseName, w.holder)
		if err == nil {
			w.lease.giveBack()
			return
		}
		if !w.Conn.Engine.Retryable(err) || w.Rest(ctx, true, attempt) != nil { // another one is looking at it
			return
		}
	}
}

// releasePatience is how long a worker that ends tries to give back its lease. Another one would
// wait for that up to Options.Lease, so that a server which is merely slow is worth waiting for.
const releasePatience = 10 * time.Second

package rollup

import "time"

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

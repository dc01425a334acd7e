package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/link"
)

// detached is a statement that goes on on a connection after its caller has given up: the
// statement of a batch is also that of the other members, and outlives the context of its leader.
// Until it has ended the connection takes no other statement, and whatever would touch the parent
// is deferred.
//
// Its states are
//
//	attached   no such statement: done is nil
//	running    the statement is under way: done is open
//	finished   it has ended, but the deferred calls have not been made: done is closed
//
// Only the goroutine that uses the connection calls its methods; the goroutine that runs the
// statement closes done.
type detached struct {
	rare     *link.Rare
	done     chan struct{}
	deferred []func()
}

// leave notes that the caller of a statement has given up. The statement ends when done
// is closed.
func (d *detached) leave(done chan struct{}) {
	d.done = done
	d.rare.Set(link.Detached)
}

// running reports whether the statement is under way.
func (d *detached) running() bool {
	select {
	case <-d.done: // closed, or nil and never ready
		return false
	default:
		return d.done != nil
	}
}

// putOff defers f until the connection is attached again. It reports false if f need not wait, and
// has not been deferred.
func (d *detached) putOff(f func()) bool {
	if !d.running() {
		return false
	}
	d.deferred = append(d.deferred, f)
	return true
}

// await waits for the statement to end, until ctx is done, and attaches the connection again.
func (d *detached) await(ctx context.Context) error {
	if d.done == nil {
		return nil
	}
	select {
	case <-d.done:
		d.attach()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach waits for the statement to end, and makes the deferred calls.
func (d *detached) attach() {
	if d.done == nil {
		return
	}
	<-d.done
	d.done = nil
	d.rare.Clear(link.Detached)
	for _, f := range d.deferred {
		f()
	}
	d.deferred = nil
}

package session

import "context"

// detached is the statement that runs on a connection after its caller has given up:
// the statement of a batch is also that of the other members, and outlives the context
// of the one that leads it. Until it has ended the connection takes no other statement,
// and what would touch the parent is put off.
//
// Its states are
//
//	attached   no such statement: done is nil
//	running    the statement is under way: done is open
//	finished   it has ended, and what was put off has not been done: done is closed
//
// Only the goroutine that uses the connection calls its methods; done is closed by the
// one that runs the statement.
type detached struct {
	done     chan struct{}
	deferred []func()
}

// leave notes that the caller of a statement has given up. The statement ends when done
// is closed.
func (d *detached) leave(done chan struct{}) { d.done = done }

// running reports whether the statement is under way.
func (d *detached) running() bool {
	select {
	case <-d.done: // closed, or nil and never ready
		return false
	default:
		return d.done != nil
	}
}

// putOff has f run once the connection is attached again, and reports false where it
// need not wait.
func (d *detached) putOff(f func()) bool {
	if !d.running() {
		return false
	}
	d.deferred = append(d.deferred, f)
	return true
}

// await waits for the statement to end, as long as ctx lasts, and attaches the
// connection again.
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

// attach waits for the statement to end, and does what has been put off until then.
func (d *detached) attach() {
	if d.done == nil {
		return
	}
	<-d.done
	d.done = nil
	for _, f := range d.deferred {
		f()
	}
	d.deferred = nil
}

package catalog

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// sidePatience bounds a look on the side connection. A look waits for no transaction, so one that
// takes longer is on a server that does not answer.
const sidePatience = 3 * time.Second

// sideRest is how long no connection is asked for after none was available. Looks are then made on
// the application's connections, outside transactions.
const sideRest = 10 * time.Second

// LookIfDue has the tables looked at if that is due, for a statement that is about to be planned.
// It waits if a change may concern the statement (wait). A statement that has run before and named
// no configured table is not concerned: it would have to name a view that has just been created. A
// look that fails does not fail the statement, which runs on the facts that there are; another
// look begins soon.
func (v *View) LookIfDue(ctx context.Context, wait bool) {
	if len(v.Catalog.Tables) == 0 {
		return
	}
	w := &v.Catalog.Watch
	age := w.age()
	if age < lookAgain || v.Schema == nil || v.Catalog.watcher() == nil {
		return
	}
	if v.Catalog.Traits.OneWriter || !v.Catalog.mayLookAside() {
		v.lookHere(ctx)
		return
	}
	done := v.Catalog.lookAside()
	if age < lookFirst || !wait {
		return
	}
	// A pooler may have no connection for the look as long as this session holds one.
	late := time.NewTimer(sidePatience)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		w.leave(done)
	case <-ctx.Done():
		return
	}
	if w.age() >= lookFirst {
		v.lookHere(ctx)
	}
}

// LookHereIfDue is LookIfDue for a session that is not yet in a transaction, if looks are made on
// the application's connections: inside a transaction they are not.
func (v *View) LookHereIfDue(ctx context.Context) {
	if len(v.Catalog.Tables) > 0 && (v.Catalog.Traits.OneWriter || !v.Catalog.mayLookAside()) {
		v.LookIfDue(ctx, true)
	}
}

// lookHere looks on the application's connection if that has no effect on it: outside a
// transaction, and while no rows are open. If only one connection writes at a time, looks are
// always made like that: on a second connection they might see another database, or be in the way.
func (v *View) lookHere(ctx context.Context) {
	if v.Catalog.Traits.OneWriter {
		if !v.Tx.None() {
			return
		}
	} else if v.Rare.Any(link.RowsOpen|link.TxOpen) || !v.InAutocommit() {
		return
	}
	w := &v.Catalog.Watch
	w.mu.Lock()
	if w.under != nil {
		w.mu.Unlock()
		return
	}
	done := make(chan struct{})
	w.under = done
	w.mu.Unlock()
	_ = v.Catalog.compare(ctx, v, func() { v.Catalog.Expire() })
	w.ended(done)
}

func (w *watch) ended(done chan struct{}) {
	w.mu.Lock()
	if w.under == done {
		w.under = nil
	}
	w.mu.Unlock()
	close(done)
}

// leave makes others not wait for a look that takes too long, and no look be made on the side
// connection for a while.
func (w *watch) leave(done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.under == done {
		w.under = nil
		w.Side.rest.Store(int64(clock() + sideRest))
	}
}

// mayLookAside reports whether a look may be made on the side connection.
func (c *Catalog) mayLookAside() bool {
	if !c.OpensAside {
		return false
	}
	rest := c.Watch.Side.rest.Load()
	return rest == 0 || clock() >= time.Duration(rest)
}

// lookAside begins a look on the side connection, or takes over what another connector has just found, unless
// one is in progress. The channel is closed when it ends.
func (c *Catalog) lookAside() <-chan struct{} {
	w := &c.Watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.under != nil {
		return w.under
	}
	done := make(chan struct{})
	w.under = done
	go func() {
		defer w.ended(done)
		ctx, cancel := w.Side.bounded(context.Background(), readingPatience)
		defer cancel()
		taken, leave := w.foundByOthers(ctx)
		if taken {
			c.remind(ctx)
			return
		}
		defer leave()
		_ = w.Side.run(ctx, c, func(v *View) error {
			soon, cancel := context.WithTimeout(ctx, sidePatience)
			defer cancel()
			v.identify(soon)
			return c.compare(soon, v, func() {
				leave()
				c.renew(ctx, v)
			})
		})
	}()
	return done
}

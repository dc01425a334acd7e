package slotsql

import (
	"context"
	"time"
)

// sidePatience bounds a look on the side connection. It waits for no transaction,
// so that one which takes longer has met a server that does not answer.
const sidePatience = 3 * time.Second

// sideRest is how long no connection is asked for after one was not to be had:
// looks are then made on the application's, outside transactions.
const sideRest = 10 * time.Second

// sideIdle is how long the connection is kept when nobody looks.
const sideIdle = 30 * time.Second

// heed has the tables looked at when that is due, for a statement that is about
// to be planned. It waits where a change may concern the statement (wait): one
// that has run before and named no configured table does not, as it would have to
// name a view that has just come to be. A look that fails is no error of the
// statement's: it runs on the facts that there are, and another one begins soon.
func (c *view) heed(ctx context.Context, wait bool) {
	if len(c.catalog.tables) == 0 {
		return
	}
	w := &c.catalog.watch
	age := w.age()
	if age < lookAgain || c.schema == nil || c.catalog.watcher() == nil {
		return
	}
	if c.catalog.traits.OneWriter || !c.catalog.aside() {
		c.lookHere(ctx)
		return
	}
	done := c.catalog.lookAside()
	if age < lookFirst || !wait {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
		return
	}
	if w.age() >= lookFirst {
		c.lookHere(ctx)
	}
}

// heedHere is heed for a session that is not yet in a transaction, where looks are
// made on the application's connections: in one they are not.
func (c *view) heedHere(ctx context.Context) {
	if len(c.catalog.tables) > 0 && (c.catalog.traits.OneWriter || !c.catalog.aside()) {
		c.heed(ctx, true)
	}
}

// lookHere looks on the application's connection, where that changes nothing for
// it: outside a transaction, and while no rows are open. Where one connection
// writes at a time that is the way at all times: a second one could see another
// database, or be in the way.
func (c *view) lookHere(ctx context.Context) {
	if c.catalog.traits.OneWriter {
		if c.lasting || c.tx.byText || c.temp {
			return
		}
	} else if c.reading || c.lasting || !c.inAutocommit() {
		return
	}
	w := &c.catalog.watch
	w.mu.Lock()
	if w.under != nil {
		w.mu.Unlock()
		return
	}
	done := make(chan struct{})
	w.under = done
	w.mu.Unlock()
	_ = c.catalog.compare(ctx, c, func() { c.catalog.expire() })
	w.ended(done)
}

func (w *watch) ended(done chan struct{}) {
	w.mu.Lock()
	w.under = nil
	w.mu.Unlock()
	close(done)
}

// aside reports whether a connection of slotsql's own may be had to look.
func (s *catalog) aside() bool {
	return s.connect != nil && clock() >= time.Duration(s.watch.side.rest.Load())
}

// lookAside begins a look on slotsql's own connection, unless one is under way.
// The channel is closed at its end.
func (s *catalog) lookAside() <-chan struct{} {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.under != nil {
		return w.under
	}
	done := make(chan struct{})
	w.under = done
	go func() {
		defer w.ended(done)
		ctx, cancel := w.side.bounded(context.Background(), readingPatience)
		defer cancel()
		_ = w.side.run(ctx, s, func(v *view) error {
			soon, cancel := context.WithTimeout(ctx, sidePatience)
			defer cancel()
			return s.compare(soon, v, func() { s.renew(ctx, v) })
		})
	}()
	return done
}

package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
)

// The facts of the namespace that connections open with are read by one connection
// at a time, for all that wait for them, and on its own time: who has to leave
// gets its own error, and the next one finds what has been read since. A first
// connection reads them itself; it belongs to the reading until that has ended.
// Later on they are read on the side connection.

// readingPatience bounds a reading, which waits for nothing but DDL.
const readingPatience = time.Minute

// ownPatience is how long a transaction waits for a reading: it may hold what that
// one waits for. It then reads for itself.
const ownPatience = time.Second

// A reading is under way until done is closed.
type reading struct {
	done chan struct{}
	sc   *Schema
	err  error
}

// current returns the facts of the home namespace as they are now. When they have
// to be read, and nobody does, begin has them read: it calls finish, now or later.
func (s *Catalog) current(ctx context.Context, begin func(r *reading)) (*Schema, error) {
	for {
		s.mu.Lock()
		if sc := s.First; sc != nil && !sc.Stale() {
			s.mu.Unlock()
			return sc, nil
		}
		r := s.reading
		mine := r == nil
		if mine {
			r = &reading{done: make(chan struct{})}
			s.reading = r
		}
		s.mu.Unlock()
		if mine {
			begin(r)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var cfg *config.ConfigError
		switch {
		case r.err != nil && (mine || errors.As(r.err, &cfg)):
			return nil, r.err
		case r.err == nil && (mine || !r.sc.Stale()):
			return r.sc, nil
		}
	}
}

// finish ends a reading.
func (s *Catalog) finish(r *reading, sc *Schema, err error) {
	s.mu.Lock()
	if r.sc, r.err = sc, err; err == nil && !sc.partial {
		s.First, s.schemas[sc.namespace] = sc, sc
	}
	s.reading = nil
	s.mu.Unlock()
	close(r.done)
}

// readHome reads the facts of the home namespace. The first ones are strict, and
// with them leases begin.
func (s *Catalog) readHome(ctx context.Context, v *View) (*Schema, error) {
	s.mu.Lock()
	first := s.First == nil
	s.mu.Unlock()
	namespace, err := s.homeOf(ctx, v)
	if err != nil {
		return nil, err
	}
	sc, err := s.read(ctx, v, loading{strict: first, home: true}, namespace)
	if err == nil && first && len(sc.Tables) > 0 && !s.Beside {
		s.FirstRead(ctx, v)
	}
	return sc, err
}

// homeOf returns the namespace that the connector's sessions begin with. It is
// asked of the first one: a session of slotsql's own has other settings.
func (s *Catalog) homeOf(ctx context.Context, v *View) (string, error) {
	s.mu.Lock()
	home := s.home
	s.mu.Unlock()
	if _, own := s.Dialect.(dialect.OwnSettings); own && home != "" {
		return home, nil
	}
	home, err := s.Dialect.Namespace(ctx, v.Session())
	if err == nil {
		s.mu.Lock()
		s.home = home
		s.mu.Unlock()
	}
	return home, err
}

// Open returns the facts for a session of slotsql's own, or one that has changed
// nothing. The first call reads them, and reports what does not fit; when that
// fails the next connection tries again. Once it has succeeded a table may go: the
// application that dropped it may be about to create it again.
func (s *Catalog) Open(ctx context.Context, v *View) (*Schema, error) {
	if err := s.lookNow(ctx, v); err != nil {
		return nil, err
	}
	return s.current(ctx, func(r *reading) {
		sc, err := s.readHome(ctx, v)
		s.finish(r, sc, err)
	})
}

// lookNow compares the tables with the facts, for a connection that has just been
// opened.
func (s *Catalog) lookNow(ctx context.Context, v *View) error {
	s.mu.Lock()
	sc := s.First
	s.mu.Unlock()
	if sc == nil || sc.Stale() || len(s.Tables) > manyTables && s.Watch.age() < lookAgain {
		return nil
	}
	if err := s.compare(ctx, v, func() { s.Expire() }); err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

// manyTables is from how many tables on a look takes so long that not every
// connection has one of its own.
const manyTables = 50

// Opened is open for a connection that database/sql has asked for. Lent reports that
// the connection is left to the reading, which closes it.
func (c *View) Opened(ctx context.Context) (lent bool, err error) {
	s := c.Catalog
	if err := s.lookNow(ctx, c); err != nil {
		return false, err
	}
	var own *reading
	c.Schema, err = s.current(ctx, func(r *reading) {
		own = r
		go func() {
			ctx, cancel := s.Watch.Side.bounded(ctx, readingPatience)
			defer cancel()
			sc, err := s.readHome(ctx, c)
			s.finish(r, sc, err)
		}()
	})
	if own == nil || err == nil {
		return false, err
	}
	select {
	case <-own.done:
		return false, err
	default:
	}
	go func() {
		<-own.done
		_ = c.Parent.Close()
	}()
	return true, err
}

// renew reads the facts again, once a look has found that they are out of date;
// until it has, statements go on with those that there are.
func (s *Catalog) renew(ctx context.Context, v *View) {
	s.mu.Lock()
	if s.reading != nil || s.First == nil {
		s.mu.Unlock()
		s.Expire()
		return
	}
	r := &reading{done: make(chan struct{})}
	s.reading = r
	namespace := s.home
	s.mu.Unlock()
	sc, err := s.read(ctx, v, loading{home: true, renew: true}, namespace)
	if err != nil {
		s.Expire()
	}
	s.finish(r, sc, err)
}

// readAgain has the facts of the home namespace read for a statement of c.
func (c *View) readAgain(ctx context.Context) error {
	s := c.Catalog
	if s.Traits.OneWriter || !s.aside() {
		return c.readHere(ctx)
	}
	inTx := c.Tx.KeepsLocks() || !c.InAutocommit()
	wait, cancel := ctx, context.CancelFunc(func() {})
	if inTx {
		wait, cancel = context.WithTimeout(ctx, ownPatience)
	}
	defer cancel()
	sc, err := s.current(wait, func(r *reading) {
		go func() {
			ctx, cancel := s.Watch.Side.bounded(ctx, readingPatience)
			defer cancel()
			var sc *Schema
			err := s.Watch.Side.run(ctx, s, func(v *View) (err error) {
				sc, err = s.readHome(ctx, v)
				return err
			})
			s.finish(r, sc, err)
		}()
	})
	var cfg *config.ConfigError
	switch {
	case err == nil:
		c.Schema, c.Moved = sc, false
		return nil
	case ctx.Err() != nil, errors.As(err, &cfg):
		return err
	case inTx:
		return c.readForItself(ctx)
	}
	return c.readHere(ctx)
}

// readHere reads on the statement's own connection, or aside where a first read
// would show.
func (c *View) readHere(ctx context.Context) error {
	s := c.Catalog
	if s.Traits.OneWriter && c.Tx.KeepsLocks() && !c.Tx.Unused() {
		return c.readForItself(ctx) // its transaction may see what has been changed since
	}
	sc, err := s.current(ctx, func(r *reading) {
		var sc *Schema
		err := c.Aside(ctx, func(v *View) (err error) {
			sc, err = s.readHome(ctx, v)
			return err
		})
		s.finish(r, sc, err)
	})
	if err == nil {
		c.Schema, c.Moved = sc, false
	}
	return err
}

// readForItself reads the facts as the session's transaction sees them, for this
// session and until it ends.
func (c *View) readForItself(ctx context.Context) error {
	return c.Aside(ctx, func(v *View) error {
		sc, err := c.Catalog.load(ctx, v, loading{private: true})
		if err == nil {
			c.Schema, c.Moved, c.Adrift = sc, false, true
		}
		return err
	})
}

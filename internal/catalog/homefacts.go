package catalog

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
)

// The facts of the namespace that connections open with are read by one connection at a time, on
// behalf of all sessions that wait for them, and not limited by any of their contexts: a session
// whose context ends gets its own error, and the next one finds what has been read since. The
// first connection reads them itself, and belongs to the reading until that has ended. Later they
// are read on the side connection.

// readingPatience bounds a reading, which waits for nothing but DDL.
const readingPatience = time.Minute

// ownPatience is how long a transaction waits for a reading, which may itself wait for a lock that
// the transaction holds. After that it reads for itself.
const ownPatience = time.Second

// A reading is in progress until done is closed.
type reading struct {
	done chan struct{}
	sc   *Schema
	err  error
}

// current returns the facts of the home namespace as they are now. If they have to be read, and no
// reading is in progress, it calls begin, which has them read and calls finish, now or later.
func (c *Catalog) current(ctx context.Context, begin func(r *reading)) (*Schema, error) {
	for {
		c.mu.Lock()
		if sc := c.Home.Facts; sc != nil && !sc.Stale() {
			c.mu.Unlock()
			return sc, nil
		}
		r := c.Home.reading
		mine := r == nil
		if mine {
			r = &reading{done: make(chan struct{})}
			c.Home.reading = r
		}
		c.mu.Unlock()
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
func (c *Catalog) finish(r *reading, sc *Schema, err error) {
	c.mu.Lock()
	if r.sc, r.err = sc, err; err == nil && !sc.fresh.partial {
		c.Home.Facts, c.schemas[sc.namespace] = sc, sc
	}
	c.Home.reading = nil
	c.mu.Unlock()
	close(r.done)
}

// readHome reads the facts of the home namespace. The first reading is strict; leases begin with
// the first one that finds a counter table.
func (c *Catalog) readHome(ctx context.Context, v *View) (*Schema, error) {
	c.mu.Lock()
	first := c.Home.Facts == nil
	c.mu.Unlock()
	namespace, err := c.homeOf(ctx, v)
	if err != nil {
		return nil, err
	}
	sc, err := c.read(ctx, v, homeLoading(first), namespace)
	if err == nil && len(sc.Tables) > 0 && !c.Role.Beside && !sc.fresh.partial && c.start() {
		c.Hooks.FirstRead(ctx, v)
	}
	return sc, err
}

// start reports whether FirstRead has not been called yet, and notes that it is.
func (c *Catalog) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.Home.started
	c.Home.started = true
	return !started
}

// homeOf returns the namespace that the connector's sessions begin with. Only the first session is
// asked: sessions of slotsql's own have other settings.
func (c *Catalog) homeOf(ctx context.Context, v *View) (string, error) {
	c.mu.Lock()
	home := c.Home.namespace
	c.mu.Unlock()
	if _, own := c.Dialect.(dialect.OwnSettings); own && home != "" && !c.ParentHooks.Any() {
		return home, nil
	}
	first := home == ""
	home, err := v.namespace(ctx)
	if err == nil {
		c.mu.Lock()
		c.Home.namespace = home
		if first {
			c.Home.settings = v.asked.Settings
		}
		c.mu.Unlock()
	}
	return home, err
}

// Open returns the facts for a session of slotsql's own, or one that has changed nothing. The
// first call reads them, and reports what does not fit; if it fails, the next connection tries
// again. Once it has succeeded a table may disappear: the application that dropped it may be about
// to create it again.
//
// Sessions of slotsql's own send no statements that would have the tables looked at, so Open does.
func (c *Catalog) Open(ctx context.Context, v *View) (*Schema, error) {
	c.mu.Lock()
	sc := c.Home.Facts
	c.mu.Unlock()
	if sc != nil && !sc.Stale() && (len(c.Tables) <= manyTables || c.Watch.age() >= lookFirst) {
		if err := c.compare(ctx, v, func() { c.Expire() }); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	return c.current(ctx, func(r *reading) {
		sc, err := c.readHome(ctx, v)
		c.finish(r, sc, err)
	})
}

// manyTables is the number of tables from which a look takes so long that it is only made when it
// is due.
const manyTables = 50

// LearnAtOpen is Open for a connection that database/sql has asked for. Lent reports that the
// reading still uses the connection, and will close it.
func (v *View) LearnAtOpen(ctx context.Context) (lent bool, err error) {
	s := v.Catalog
	if s.ParentHooks.Opening {
		s.mu.Lock()
		v.Schema = s.Home.Facts // until the session has been asked whether they are its own
		s.mu.Unlock()
		if v.Schema != nil {
			return false, nil
		}
	}
	var own *reading
	v.Schema, err = s.current(ctx, func(r *reading) {
		own = r
		go func() {
			ctx, cancel := s.Watch.Side.bounded(ctx, readingPatience)
			defer cancel()
			sc, err := s.readHome(ctx, v)
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
		_ = v.Parent.Close()
	}()
	return true, err
}

// renew reads the facts again after a look has found that they are out of date. Until it has,
// statements go on with the old ones.
func (c *Catalog) renew(ctx context.Context, v *View) {
	c.mu.Lock()
	if c.Home.reading != nil || c.Home.Facts == nil {
		c.mu.Unlock()
		c.Expire()
		return
	}
	r := &reading{done: make(chan struct{})}
	c.Home.reading = r
	namespace := c.Home.namespace
	c.mu.Unlock()
	if !c.atHome(ctx, v) {
		c.Expire() // sessions that are read them themselves
		return
	}
	sc, err := c.read(ctx, v, loading{purpose: forRenewal, home: true}, namespace)
	if err != nil {
		c.Expire()
	}
	c.finish(r, sc, err)
}

// readAgain has the facts of the home namespace read for a statement of v.
func (v *View) readAgain(ctx context.Context) error {
	s := v.Catalog
	if s.Traits.OneWriter || s.ParentHooks.Any() || !s.mayLookAside() {
		return v.readHere(ctx)
	}
	inTx := v.Rare.Any(link.TxOpen) || !v.InAutocommit()
	wait, cancel := ctx, context.CancelFunc(func() {})
	if inTx {
		wait, cancel = context.WithTimeout(ctx, ownPatience)
	}
	defer cancel()
	sc, err := s.current(wait, func(r *reading) {
		go func() {
			ctx, cancel := s.Watch.Side.bounded(ctx, readingPatience)
			defer cancel()
			var read atomic.Pointer[Schema]
			err := s.Watch.Side.run(ctx, s, func(on *View) error {
				sc, err := s.readHome(ctx, on)
				read.Store(sc)
				return err
			})
			s.finish(r, read.Load(), err)
		}()
	})
	var cfg *config.ConfigError
	switch {
	case err == nil:
		v.know(sc)
		return nil
	case ctx.Err() != nil, errors.As(err, &cfg):
		return err
	case inTx:
		return v.readForItself(ctx)
	}
	return v.readHere(ctx)
}

// readHere reads on the statement's own connection, or on one beside it if a first read would have
// an effect: see Aside.
func (v *View) readHere(ctx context.Context) error {
	s := v.Catalog
	if s.Traits.OneWriter && v.Rare.Any(link.TxOpen) && !v.Tx.Unused() {
		return v.readForItself(ctx) // its transaction may see what has been changed since
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if v.Rare.Any(link.TxOpen) {
		wait, cancel = context.WithTimeout(ctx, ownPatience) // it may keep out who reads (BEGIN EXCLUSIVE)
	}
	defer cancel()
	sc, err := s.current(wait, func(r *reading) {
		var sc *Schema
		err := v.Aside(ctx, func(on *View) (err error) {
			sc, err = s.readHome(ctx, on)
			return err
		})
		s.finish(r, sc, err)
	})
	switch {
	case err == nil:
		v.know(sc)
	case wait.Err() != nil && ctx.Err() == nil:
		return v.readPrivately(ctx, v) // a further connection could not read, either
	}
	return err
}

// readForItself reads the facts as the session's transaction sees them, for this session only and
// until the transaction ends.
func (v *View) readForItself(ctx context.Context) error {
	return v.Aside(ctx, func(on *View) error { return v.readPrivately(ctx, on) })
}

func (v *View) readPrivately(ctx context.Context, on *View) error {
	sc, err := v.Catalog.load(ctx, on, loading{purpose: forSession})
	if err == nil {
		v.Schema = sc
		v.Facts.ReadInTx()
	}
	return err
}

package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// sidePool keeps side connections: connections of slotsql's own beside the application's. They are
// opened when they are needed, and closed at the age that link.Age allows. A session that needs one holds locks, so after
// one could not be opened the pool does not try again for a while.
type sidePool struct {
	places chan struct{} // one element for each connection in use
	rest   time.Duration // no connection is opened for so long after one could not be

	mu    sync.Mutex
	state sideState
	until time.Time   // of sideResting
	idle  []*Conn     // of which the last one was used last, and is used first
	trim  *time.Timer // which closes them; nil while none is idle
}

type sideState byte

const (
	sideOpen    sideState = iota
	sideResting           // a connection could not be opened: none is until a while has passed
	sideClosed            // connections in use are closed when they are given back
)

// errNoSide is returned if there is no side connection and none can be opened.
var errNoSide = errors.New("slotsql: could not open another connection in time: the server needs one to spare")

func newSidePool(most int, rest time.Duration) *sidePool {
	return &sidePool{places: make(chan struct{}, most), rest: rest}
}

// take returns a connection, to be given back with keep or drop. Fresh reports whether it has just
// been opened.
func (p *sidePool) take(ctx context.Context, open func(context.Context) (*Conn, error)) (c *Conn, fresh bool, err error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	return p.fill(ctx, open)
}

// takeNow is take, but fails if all connections are in use.
func (p *sidePool) takeNow(ctx context.Context, open func(context.Context) (*Conn, error)) (*Conn, error) {
	select {
	case p.places <- struct{}{}:
	default:
		return nil, errNoSide
	}
	c, _, err := p.fill(ctx, open)
	return c, err
}

// fill returns a connection for a place that has been taken.
func (p *sidePool) fill(ctx context.Context, open func(context.Context) (*Conn, error)) (c *Conn, fresh bool, err error) {
	c, may := p.find(time.Now())
	if c != nil {
		return c, false, nil
	}
	err = errNoSide
	if may {
		if c, err = open(ctx); err == nil {
			c.Age.Begin()
			return c, true, nil
		}
		p.fail(time.Now())
	}
	<-p.places
	return nil, false, err
}

// find returns an idle connection, or whether a new one may be opened.
func (p *sidePool) find(now time.Time) (c *Conn, may bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		c, p.idle = p.idle[i], p.idle[:i]
		if !c.Age.Over() {
			return c, false
		}
		go c.closeSide() // what is dead may take long to close
	}
	if p.state == sideResting && !now.Before(p.until) {
		p.state = sideOpen
	}
	return nil, p.state == sideOpen
}

// fail notes that a connection could not be opened.
func (p *sidePool) fail(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != sideClosed {
		p.state, p.until = sideResting, now.Add(p.rest)
	}
}

// keep gives back a connection that can be used again.
func (p *sidePool) keep(c *Conn) {
	c.Age.Use()
	p.mu.Lock()
	ended := p.state == sideClosed
	if !ended {
		p.idle = append(p.idle, c)
		if p.trim == nil {
			p.trim = time.AfterFunc(c.Age.Left(), p.closeOver)
		}
	}
	p.mu.Unlock()
	if ended {
		c.closeSide()
	}
	<-p.places
}

// closeOver closes the idle connections that must not be used again.
func (p *sidePool) closeOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(c *Conn) bool {
		over := c.Age.Over()
		if over {
			go c.closeSide()
		}
		return over
	})
	if p.trim = nil; len(p.idle) > 0 {
		p.trim = time.AfterFunc(p.idle[0].Age.Left(), p.closeOver)
	}
}

// drop gives back a connection on which something went wrong, and closes it, so that the server
// rolls back its transaction.
func (p *sidePool) drop(c *Conn) {
	c.closeSide()
	<-p.places
}

// close closes the connections; those in use are closed when they are given back.
func (p *sidePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = sideClosed
	if p.trim != nil {
		p.trim.Stop()
	}
	for _, c := range p.idle {
		c.closeSide()
	}
	p.idle = nil
}

// abandon gives back the place of a connection that is still in use. Whoever uses it closes it.
func (p *sidePool) abandon() { <-p.places }

// closeSide closes a side connection, and only then the statements that are kept prepared on it: a parent may wait for
// the server's answer to that while the connection is open.
func (c *Conn) closeSide() {
	_ = c.Parent.Close()
	c.Kept.Close()
}

// openSide opens a side connection, and sends statements that set up its session.
func (s *Shared) openSide(ctx context.Context, prepare ...[]string) (*Conn, error) {
	raw, err := s.Dial(ctx)
	if err != nil {
		s.warnAside(ctx, "another connection could not be opened, so some statements take a slower way", err)
		return nil, err
	}
	if d, ok := s.Dialect.(dialect.OwnSettings); ok {
		prepare = slices.Insert(prepare, 0, d.OwnSettings())
	}
	c := WrapConn(s, raw)
	if err := c.Session().ExecAll(ctx, prepare...); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

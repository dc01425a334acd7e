package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
)

// side is a connection of slotsql's own, on which the catalog is read beside the application's
// statements. It is opened when it is needed, and closed at the age that link.Age allows.
type side struct {
	rest atomic.Int64 // until when none is asked for, by clock

	ending sync.Mutex
	ended  map[int]context.CancelFunc // of what is under way, on this connection or a lent one
	under  int                        // how many there were
	closed bool

	shutOut atomic.Bool // a transaction has kept out those who read facts aside

	mu   sync.Mutex
	conn *View
	idle *time.Timer
}

// bounded returns a context for slotsql's own work: with the values of ctx, but ended by a timeout
// or with the connector only.
func (d *side) bounded(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	d.ending.Lock()
	defer d.ending.Unlock()
	if d.closed {
		cancel()
		return ctx, cancel
	}
	d.under++
	at := d.under
	if d.ended == nil {
		d.ended = map[int]context.CancelFunc{}
	}
	d.ended[at] = cancel
	return ctx, func() {
		cancel()
		d.ending.Lock()
		defer d.ending.Unlock()
		delete(d.ended, at)
	}
}

// run runs f on the connection, and once more on a new one if the server has closed it meanwhile.
// If it fails, no connection is asked for during some seconds. If ctx ends, f may go on: see
// link.WithContext.
func (d *side) run(ctx context.Context, s *Catalog, f func(*View) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.try(ctx, s, f)
	if err != nil {
		d.rest.Store(int64(clock() + sideRest))
	}
	return err
}

// Beside runs f on the side connection, beside the statements of the application. It is not limited
// by ctx, of which it keeps the values, but by patience and the end of the connector.
func (c *Catalog) Beside(ctx context.Context, patience time.Duration, f func(context.Context, *View) error) error {
	d := &c.Watch.Side
	ctx, cancel := d.bounded(ctx, patience)
	defer cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.try(ctx, c, func(v *View) error { return f(ctx, v) })
}

func (d *side) try(ctx context.Context, s *Catalog, f func(*View) error) error {
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.conn != nil && d.conn.Age.Over() {
			go d.conn.Parent.Close() // what is dead may take long to close
			d.conn = nil
		}
		fresh := d.conn == nil
		if fresh {
			soon, cancel := context.WithTimeout(ctx, sidePatience)
			raw, err := s.DialContext(soon)
			cancel()
			if err != nil {
				return err
			}
			d.conn = NewView(s, raw)
			d.conn.Age.Begin()
		}
		on := d.conn
		_, err := link.WithContext(ctx, &s.Database, func() (none struct{}, err error) {
			if own, ok := s.Dialect.(dialect.OwnSettings); ok && fresh {
				err = on.Session().ExecAll(ctx, own.OwnSettings())
			}
			if err == nil {
				err = f(on)
			}
			return none, err
		}, func(struct{}, error) { _ = on.Parent.Close() })
		if errors.Is(err, link.ErrAbandoned) {
			d.conn = nil
		}
		if err == nil {
			d.keep()
			return nil
		}
		d.drop() // whatever state it is in
		if fresh || ctx.Err() != nil {
			return err
		}
	}
}

// keep closes the connection once it must not be used again.
func (d *side) keep() {
	if d.idle != nil {
		d.idle.Stop()
	}
	d.conn.Age.Use()
	d.idle = time.AfterFunc(d.conn.Age.Left(), func() {
		if d.mu.TryLock() { // else it is in use
			d.drop()
			d.mu.Unlock()
		}
	})
}

func (d *side) drop() {
	if d.idle != nil {
		d.idle.Stop()
	}
	if d.conn != nil {
		_ = d.conn.Parent.Close()
		d.conn = nil
	}
}

// Close ends what is under way, and closes the connection.
func (d *side) Close() {
	d.ending.Lock()
	d.closed = true
	for _, cancel := range d.ended {
		cancel()
	}
	d.ending.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop()
}

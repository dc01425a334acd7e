package slotsql

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// side is a connection of slotsql's own for what is read of the catalog beside
// the application's statements. It is opened when it is needed, and closed when it
// has not been for a while.
type side struct {
	rest atomic.Int64 // until when none is asked for, by clock

	mu     sync.Mutex
	conn   *conn
	idle   *time.Timer
	closed bool
}

var errSideClosed = errors.New("slotsql: the connector is closed")

// run runs f on the connection; once more on a new one when the server has closed
// it meanwhile. When it fails, none is asked for during some seconds.
func (d *side) run(ctx context.Context, s *shared, f func(*session) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.try(ctx, s, f)
	if err != nil {
		d.rest.Store(int64(clock() + sideRest))
	}
	return err
}

func (d *side) try(ctx context.Context, s *shared, f func(*session) error) error {
	for {
		if d.closed {
			return errSideClosed
		}
		fresh := d.conn == nil
		if fresh {
			raw, err := s.connect(ctx)
			if err != nil {
				return err
			}
			d.conn = wrapConn(s, raw)
			if own, ok := s.dialect.(dialect.OwnSettings); ok {
				if err := d.conn.session.execAll(ctx, own.OwnSettings()); err != nil {
					d.drop()
					return err
				}
			}
		}
		err := f(&d.conn.session)
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

// keep closes the connection when it has not been used for a while.
func (d *side) keep() {
	if d.idle != nil {
		d.idle.Stop()
	}
	d.idle = time.AfterFunc(sideIdle, func() {
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
		_ = d.conn.parent.Close()
		d.conn = nil
	}
}

func (d *side) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.drop()
}

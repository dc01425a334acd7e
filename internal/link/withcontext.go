package link

import (
	"context"
	"database/sql/driver"
	"errors"
)

// A parent may not return when its context ends: lib/pq does not while it connects, nor while a
// pooler has no server connection for what it has sent. A statement of the application must not
// wait for such a parent any longer: what a side connection does runs in a goroutine, which is
// abandoned when the context ends.

// ErrAbandoned is returned if the parent has not returned by the end of the context. The
// connection must not be used any more; it is closed when the parent returns.
var ErrAbandoned = errors.New("slotsql: a call on one of slotsql's own connections did not return in time")

// maxAbandoned bounds the abandoned calls. At that many, no connection is opened.
const maxAbandoned = 8

// WithContext runs f and returns its results, or ErrAbandoned if ctx ends first. In that case late
// is called with the results once f returns.
func WithContext[T any](ctx context.Context, db *Database, f func() (T, error), late func(T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done, left := make(chan result), make(chan struct{})
	go func() {
		v, err := f()
		select {
		case done <- result{v, err}:
		case <-left:
			db.abandoned.Add(-1)
			late(v, err)
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	default:
	}
	db.abandoned.Add(1)
	close(left)
	var none T
	return none, ErrAbandoned
}

// DialContext is Dial, but returns when ctx ends.
func (db *Database) DialContext(ctx context.Context) (driver.Conn, error) {
	if db.abandoned.Load() >= maxAbandoned {
		return nil, ErrAbandoned
	}
	return WithContext(ctx, db, func() (driver.Conn, error) { return db.Dial(ctx) }, func(c driver.Conn, err error) {
		if err == nil {
			_ = c.Close()
		}
	})
}

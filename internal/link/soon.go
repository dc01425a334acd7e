package link

import (
	"context"
	"database/sql/driver"
	"errors"
)

// A parent may not return when its context ends: lib/pq does not while it connects, nor while a
// pooler has no server connection for what it has sent. A statement of the application does not wait
// for it longer than for one that does: what a side connection does runs in a goroutine, which is
// left alone when the context ends.

// ErrLeft is returned when the parent has not returned by the end of the context. The connection must not be
// used any more: it is closed when the parent has returned.
var ErrLeft = errors.New("slotsql: the driver does not return from a side connection")

// maxLeft bounds the calls that are left alone. At that many no connection is opened.
const maxLeft = 8

// Soon runs f, and returns what it returns, or ErrLeft when ctx has ended before. Then late is called with
// what f has returned, once it has.
func Soon[T any](ctx context.Context, db *Database, f func() (T, error), late func(T, error)) (T, error) {
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
			db.left.Add(-1)
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
	db.left.Add(1)
	close(left)
	var none T
	return none, ErrLeft
}

// DialSoon is Dial, and returns when ctx has ended.
func (db *Database) DialSoon(ctx context.Context) (driver.Conn, error) {
	if db.left.Load() >= maxLeft {
		return nil, ErrLeft
	}
	return Soon(ctx, db, func() (driver.Conn, error) { return db.Dial(ctx) }, func(c driver.Conn, err error) {
		if err == nil {
			_ = c.Close()
		}
	})
}

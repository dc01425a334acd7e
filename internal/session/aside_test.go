package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// closedConn counts how often it is closed.
type closedConn struct {
	driver.Conn
	times atomic.Int32
}

func (c *closedConn) Close() error {
	c.times.Add(1)
	return nil
}

func sideConn() (*Conn, *closedConn) {
	parent := &closedConn{}
	c := &Conn{}
	c.Parent = parent
	return c, parent
}

func TestSidePool(t *testing.T) {
	opened := 0
	open := func(context.Context) (*Conn, error) {
		opened++
		c, _ := sideConn()
		return c, nil
	}
	take := func(p *sidePool) (*Conn, bool) {
		t.Helper()
		c, fresh, err := p.take(t.Context(), open)
		if err != nil {
			t.Fatal(err)
		}
		return c, fresh
	}
	times := func(c *Conn) int32 { return c.Parent.(*closedConn).times.Load() }
	// spare reports whether one more can be taken.
	spare := func(p *sidePool) bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		select {
		case p.places <- struct{}{}:
			<-p.places
			return true
		default:
			_, _, err := p.take(ctx, open)
			return !errors.Is(err, context.Canceled)
		}
	}

	t.Run("kept and dropped", func(t *testing.T) {
		p := newSidePool(2, time.Minute)
		a, fresh := take(p)
		b, _ := take(p)
		if !fresh || a == b || spare(p) {
			t.Fatalf("two of two: fresh %v, the same %v, one more %v", fresh, a == b, spare(p))
		}
		p.keep(a)
		if c, fresh := take(p); c != a || fresh {
			t.Error("a kept connection was not used again")
		}
		p.drop(b)
		if c, fresh := take(p); c == b || !fresh || times(b) != 1 {
			t.Errorf("after a drop: the same %v, fresh %v, closed %d times", c == b, fresh, times(b))
		}
	})

	t.Run("closed", func(t *testing.T) {
		p := newSidePool(2, time.Minute)
		a, _ := take(p)
		b, _ := take(p)
		p.keep(a)
		p.close()
		if times(a) != 1 || times(b) != 0 {
			t.Errorf("idle closed %d times, in use %d times", times(a), times(b))
		}
		p.keep(b)
		if times(b) != 1 {
			t.Errorf("given back to a closed pool: closed %d times", times(b))
		}
		before := opened
		if _, _, err := p.take(t.Context(), open); err != errNoSide || opened != before || !spare(p) {
			t.Errorf("a closed pool: %v, %d opened", err, opened-before)
		}
		p.fail(time.Now())
		if p.state != sideClosed {
			t.Error("a connection that could not be made opens a closed pool after a while")
		}
	})

	t.Run("not used", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newSidePool(3, time.Minute)
			a, _ := take(p)
			b, _ := take(p)
			p.keep(a)
			p.keep(b)
			time.Sleep(link.OwnIdle / 2)
			if c, _ := take(p); c != b {
				t.Fatal("not the connection that was used last")
			}
			p.keep(b)
			time.Sleep(link.OwnIdle / 2)
			synctest.Wait()
			if times(a) != 1 || times(b) != 0 {
				t.Errorf("idle for long enough: closed %d times; not yet: %d times", times(a), times(b))
			}
			time.Sleep(link.OwnIdle / 2)
			synctest.Wait()
			if times(b) != 1 || p.trim != nil {
				t.Errorf("the last one was closed %d times", times(b))
			}
		})
	})

	t.Run("over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newSidePool(1, time.Minute)
			late := func(after time.Duration) { // the timer is
				t.Helper()
				a, _ := take(p)
				p.keep(a)
				p.trim.Stop()
				time.Sleep(after)
				b, fresh := take(p)
				synctest.Wait()
				if b == a || !fresh || times(a) != 1 {
					t.Errorf("after %v: the same %v, fresh %v, closed %d times", after, b == a, fresh, times(a))
				}
				p.keep(b)
			}
			late(link.OwnIdle)
			p.close()
			p = newSidePool(1, time.Minute)
			a, _ := take(p)
			for begun := time.Now(); time.Since(begun) < link.OwnLife; time.Sleep(link.OwnIdle / 5) {
				p.keep(a)
				if c, _ := take(p); c != a {
					t.Fatal("a connection in use was replaced too early")
				}
			}
			p.keep(a)
			if c, fresh := take(p); c == a || !fresh {
				t.Error("a connection is used for longer than any should live")
			}
		})
	})

	t.Run("resting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newSidePool(2, 10*time.Second)
			refused := errors.New("too many connections")
			if _, _, err := p.take(t.Context(), func(context.Context) (*Conn, error) { return nil, refused }); err != refused {
				t.Error(err)
			}
			before := opened
			time.Sleep(9 * time.Second)
			if _, _, err := p.take(t.Context(), open); err != errNoSide || opened != before {
				t.Errorf("at rest: %v, %d opened", err, opened-before)
			}
			time.Sleep(2 * time.Second)
			if _, _, err := p.take(t.Context(), open); err != nil || p.state != sideOpen {
				t.Errorf("after its rest: %v, state %d", err, p.state)
			}
		})
	})
}

package link

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a parent that does not return when a context ends, only when it is let go.
type stuck struct {
	driver.Conn
	letGo         chan struct{}
	dials, closed atomic.Int32
}

func (s *stuck) dial(context.Context) (driver.Conn, error) {
	s.dials.Add(1)
	<-s.letGo
	return s, nil
}

func (s *stuck) Close() error {
	s.closed.Add(1)
	return nil
}

// A call that does not return is left alone when its context ends. When too many are, no connection
// is opened, until they have returned.
func TestDialContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := &stuck{letGo: make(chan struct{})}
		db := &Database{Dial: parent.dial}
		dial := func() (driver.Conn, time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			c, err := db.DialContext(ctx)
			if (err == nil) == (c == nil) || err != nil && !errors.Is(err, ErrAbandoned) {
				t.Fatal(c, err)
			}
			return c, time.Since(start)
		}
		for range maxAbandoned {
			if c, took := dial(); c != nil || took != time.Second {
				t.Errorf("connection %v after %v", c, took)
			}
		}
		if c, took := dial(); c != nil || took != 0 || parent.dials.Load() != maxAbandoned {
			t.Errorf("connection %v after %v, %d dials", c, took, parent.dials.Load())
		}
		close(parent.letGo)
		synctest.Wait()
		if parent.closed.Load() != maxAbandoned {
			t.Errorf("%d of %d connections that came too late were closed", parent.closed.Load(), maxAbandoned)
		}
		if c, took := dial(); c == nil || took != 0 || parent.closed.Load() != maxAbandoned {
			t.Errorf("connection %v after %v, %d closed", c, took, parent.closed.Load())
		}
	})
}

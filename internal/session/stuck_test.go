package session

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/rewrite"
)

// stuckServer is one whose driver does not return when a context ends: in a connect, or while a statement
// waits. It returns when it is let go.
type stuckServer struct {
	letGo          chan struct{}
	atDial         bool
	opened, closed atomic.Int32
}

func (s *stuckServer) open(context.Context) (driver.Conn, error) {
	s.opened.Add(1)
	if s.atDial {
		<-s.letGo
	}
	return &stuckConn{server: s}, nil
}

type stuckConn struct {
	slowConn
	server *stuckServer
}

func (c *stuckConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	<-c.server.letGo
	return driver.RowsAffected(0), nil
}

func (c *stuckConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	<-c.server.letGo
	return noRows{}, nil
}

func (c *stuckConn) Close() error {
	c.server.closed.Add(1)
	return nil
}

// sideDialect has what side connections ask of a dialect.
type sideDialect struct {
	fake.Engine
	dialect.SlotNamer
}

func (sideDialect) Leasing() dialect.SideTx {
	return dialect.SideTx{Connected: []string{"SET lock_timeout"}}
}

func (sideDialect) Observer() (connected, begin []string) { return nil, []string{"BEGIN"} }

// whileStuck runs f with a driver that is stuck at a connect, and with one that is stuck at a statement. Then
// the driver is let go, and all its connections that came too late are to be closed.
func whileStuck(t *testing.T, f func(t *testing.T, s *Shared)) {
	for _, where := range []string{"connect", "statement"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &stuckServer{letGo: make(chan struct{}), atDial: where == "connect"}
				s := newSlow(t, &slowServer{})
				s.Dial = server.open
				f(t, s)
				start := time.Now()
				s.Close()
				if took := time.Since(start); took != 0 {
					t.Errorf("Close took %v", took)
				}
				close(server.letGo)
				synctest.Wait()
				if opened, closed := server.opened.Load(), server.closed.Load(); opened == 0 || closed != opened {
					t.Errorf("%d of %d connections closed", closed, opened)
				}
			})
		})
	}
}

func TestWitnessStuck(t *testing.T) {
	whileStuck(t, func(t *testing.T, s *Shared) {
		for _, c := range []struct {
			need need
			most time.Duration
		}{
			{wanted, patience[wanted]},
			{wanted, unsurePatience[wanted]},
			{needed, 2 * patience[needed]},
			{needed, unsurePatience[needed]},
		} {
			if heard, took := askSlow(t, s, c.need); heard || took > c.most {
				t.Errorf("need %d: heard %v after %v, want at most %v", c.need, heard, took, c.most)
			}
		}
	})
}

func TestObserversStuck(t *testing.T) {
	whileStuck(t, func(t *testing.T, s *Shared) {
		for range 2 * maxObservers {
			start := time.Now()
			_, err := s.sides.observers.query(t.Context(), s, sideDialect{}, nil, "SELECT 1")
			if took := time.Since(start); err == nil || took > observerPatience {
				t.Errorf("error %v after %v", err, took)
			}
		}
	})
}

// A transaction that draws a number has it from the base row, and so have others meanwhile.
func TestLeaseStuck(t *testing.T) {
	whileStuck(t, func(t *testing.T, s *Shared) {
		s.Dialect = sideDialect{Engine: fake.Probing}
		roll := s.sides.tickets.blocks.Of("row")
		lease, _ := roll.Lead(10)
		r := &Run{
			conn: WrapConn(s, &slowConn{server: &slowServer{}}),
			Plan: &plan{Plan: &rewrite.Plan{Grouping: rewrite.Grouping{Group: &rewrite.Group{Bound: rewrite.Bound{SQL: rewrite.Whole("UPDATE")}}}}},
		}
		start := time.Now()
		a, done, err := drawOf(r).leaseInTx(t.Context(), lease)
		if took := time.Since(start); a != (answer{}) || done || err != nil || took > leasePatience {
			t.Errorf("%v %v %v after %v", a, done, err, took)
		}
		time.Sleep(time.Second)
		if again, _ := roll.Lead(10); again == nil {
			t.Error("the lease has not ended")
		}
	})
}

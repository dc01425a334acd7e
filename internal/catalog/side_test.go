package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
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

func (s *stuck) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	<-s.letGo
	return driver.RowsAffected(0), nil
}

func (s *stuck) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	<-s.letGo
	return nil, errors.New("not offered")
}

func (s *stuck) Close() error {
	s.closed.Add(1)
	return nil
}

func stuckCatalog(t *testing.T) (*Catalog, *stuck) {
	t.Helper()
	cfg, err := config.Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}}}"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, parent := NewCatalog(postgres.New(), cfg, cfg.Tables()), &stuck{letGo: make(chan struct{})}
	c.Dial, c.OpensAside = parent.dial, true
	return c, parent
}

// One statement waits for a look that does not end, because the connection does not come or does not
// answer, and the next ones do not.
func TestLookStuck(t *testing.T) {
	for _, where := range []string{"connect", "statement"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, parent := stuckCatalog(t)
				if where == "statement" {
					c.Dial = func(context.Context) (driver.Conn, error) { parent.dials.Add(1); return parent, nil }
				}
				c.Watch.marks = map[dialect.WrittenName]dialect.Mark{{Name: "posts"}: {}}
				own := &stuck{letGo: make(chan struct{})}
				close(own.letGo)
				v := NewView(c, own)
				for i, most := range []time.Duration{sidePatience, 0, 0} {
					start := time.Now()
					if err := v.look(t.Context()); err != nil {
						t.Error(err)
					}
					if took := time.Since(start); took > most {
						t.Errorf("look %d took %v, want at most %v", i, took, most)
					}
				}
				if n := parent.dials.Load(); n != 1 {
					t.Errorf("%d connections were asked for, want 1", n)
				}
				close(parent.letGo)
				c.Watch.Side.Close()
				synctest.Wait()
				if n := parent.closed.Load(); n != 1 {
					t.Errorf("%d of 1 connection closed", n)
				}
			})
		})
	}
}

// forgotten is a parent that never answers again once it has idled for as long as a balancer lets it.
type forgotten struct {
	stuck
	used time.Time
}

func (f *forgotten) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if time.Since(f.used) >= link.OwnIdle {
		return f.stuck.ExecContext(ctx, q, args)
	}
	f.used = time.Now()
	return driver.RowsAffected(0), nil
}

// Nothing waits for a side connection that a balancer has dropped because it idled, nor for its end.
func TestSideForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, parent := stuckCatalog(t)
		var opened []*forgotten
		c.Dial = func(context.Context) (driver.Conn, error) {
			f := &forgotten{stuck: stuck{letGo: parent.letGo}, used: time.Now()}
			opened = append(opened, f)
			return f, nil
		}
		for range 3 {
			start := time.Now()
			err := c.Beside(t.Context(), time.Second, func(ctx context.Context, v *View) error {
				return v.Session().Exec(ctx, "SELECT 1")
			})
			if took := time.Since(start); err != nil || took != 0 {
				t.Errorf("error %v after %v", err, took)
			}
			time.Sleep(link.OwnIdle)
		}
		synctest.Wait()
		for i, f := range opened {
			if f.closed.Load() != 1 {
				t.Errorf("connection %d of %d was closed %d times", i, len(opened), f.closed.Load())
			}
		}
		close(parent.letGo)
	})
}

// What does not return on the side connection has it to itself, and the next one has another.
func TestSideStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, parent := stuckCatalog(t)
		c.Dial = func(context.Context) (driver.Conn, error) { return parent, nil }
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			err := c.Watch.Side.run(ctx, c, func(v *View) error {
				_, err := v.Parent.(*stuck).ExecContext(ctx, "SELECT 1", nil)
				return err
			})
			if took := time.Since(start); !errors.Is(err, link.ErrAbandoned) || took != time.Second {
				t.Errorf("error %v after %v", err, took)
			}
			cancel()
		}
		c.Watch.Side.Close()
		if n := parent.closed.Load(); n != 0 {
			t.Errorf("%d connections closed while they are used", n)
		}
		close(parent.letGo)
		synctest.Wait()
		if n := parent.closed.Load(); n != 2 {
			t.Errorf("%d of 2 connections closed", n)
		}
	})
}

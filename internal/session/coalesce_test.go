package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
)

func TestCoalesceOne(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 3, -1, 5)
	c.release <- fate{}
	<-c.held
	c.queue(7)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	for i := range c.results {
		c.want(i, nil)
	}
	c.wantAdded(1, 9, 7)
}

var errClass = map[string]struct {
	fate  fate
	each  error // what each member gets; nil: it runs by itself, and succeeds
	total int64
}{
	"refused":             {fate{err: fake.ErrRefused}, nil, 15},
	"undone":              {fate{err: fake.ErrConflict}, nil, 15},
	"no row":              {fate{nothing: true}, nil, 15},
	"waited in vain":      {fate{err: fake.ErrTimeout}, fake.ErrTimeout, 1},
	"lost before":         {fate{err: errLost, kill: true}, errLost, 1},
	"lost after":          {fate{err: errLost, kill: true, applied: true}, errLost, 15},
	"bad connection":      {fate{err: driver.ErrBadConn, kill: true}, nil, 15},
	"wrapped bad":         {fate{err: fmt.Errorf("net: %w", driver.ErrBadConn), kill: true}, nil, 15},
	"error of the parent": {fate{err: errOops}, errOops, 1},
}

// When the shared statement fails each member gets the error that it would have
// had, and nothing is counted twice.
func TestCoalesceFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range errClass {
		atEachStep(t, name, func(t *testing.T, c *crowd) {
			c.release <- tt.fate
			stop := make(chan struct{})
			go func() { // all others run
				for {
					select {
					case <-c.held:
						c.release <- fate{}
					case <-stop:
						return
					}
				}
			}()
			for i := 1; i <= 3; i++ {
				c.want(i, tt.each)
			}
			close(stop)
			c.wantTotal(tt.total)
			c.idle(0)
		})
	}
}

// atEachStep runs f when three increments, numbers 1 to 3, share a statement
// that the server holds: the short update of a slot row, or the upsert that
// follows when the row has gone.
func atEachStep(t *testing.T, name string, f func(t *testing.T, c *crowd)) {
	for _, step := range []string{"update", "upsert"} {
		t.Run(name+"/"+step, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			c.start(1)
			<-c.held
			c.queue(2, 4, 8)
			c.release <- fate{}
			c.want(0, nil)
			<-c.held
			if step == "upsert" {
				c.release <- fate{nothing: true}
				<-c.held
			}
			f(t, c)
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			i := slices.IndexFunc(c.server.ran, func(st statement) bool { return st.adds == 14 })
			if i < 0 || !strings.HasPrefix(c.server.ran[i].sql, "UPDATE") {
				t.Error("the first of the shared ones is no update")
			}
		})
	}
}

// A shared statement that hangs holds no caller that gives up, and ends with the last.
func TestCoalesceHangs(t *testing.T) {
	t.Parallel()
	atEachStep(t, "hang", func(t *testing.T, c *crowd) {
		for i := 1; i <= 3; i++ {
			c.cancels[i]()
			c.want(i, context.Canceled)
		}
		c.idle(0)
		c.wantTotal(1)
		c.start(16) // on another connection
		<-c.held
		c.release <- fate{}
		c.want(4, nil)
		c.wantTotal(17)
	})
}

// A caller that gives up before a statement has taken it along is not counted,
// and no other caller notices.
func TestCoalesceCancelQueued(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4, 8)
	c.cancels[1]() // would have led
	c.want(1, context.Canceled)
	c.cancels[2]()
	c.want(2, context.Canceled)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	c.want(0, nil)
	c.want(3, nil)
	c.wantAdded(1, 8)
}

// A leader that gives up returns at once. Its statement goes on for the others,
// and so counts; its connection is not used by any other caller meanwhile.
func TestCoalesceCancelLeader(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4)
	c.release <- fate{}
	ctx := <-c.held
	c.cancels[1]()
	c.want(1, context.Canceled)
	if ctx.Err() != nil {
		t.Error("the statement of others is cancelled")
	}
	for range 4 { // on every idle connection, and new ones
		if err := c.db.PingContext(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := c.db.ExecContext(t.Context(), "DELETE FROM log"); err != nil {
			t.Error(err)
		}
	}
	c.release <- fate{}
	c.want(0, nil)
	c.want(2, nil)
	c.wantAdded(1, 6)
}

// A statement for which no caller waits any more is cancelled.
func TestCoalesceCancelAll(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4)
	c.release <- fate{}
	ctx := <-c.held
	c.cancels[2]()
	c.want(2, context.Canceled)
	if ctx.Err() != nil {
		t.Error("the statement of the leader is cancelled")
	}
	c.cancels[1]()
	c.want(1, context.Canceled)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the statement goes on")
	}
	c.want(0, nil)
	c.wantTotal(1)
}

// A lone caller's context is the statement's own.
func TestCoalesceCancelAlone(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	ctx := <-c.held
	c.queue(2)
	c.cancels[0]()
	<-ctx.Done()
	c.want(0, context.Canceled)
	<-c.held
	c.release <- fate{}
	c.want(1, nil)
	c.wantTotal(2)
}

// What one statement may add is bounded, and a sum of nothing is not sent:
// engines differ in what it affects.
func TestCoalesceLimits(t *testing.T) {
	t.Parallel()
	const most = 1 << 40
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(most, 5, -5, 3, -3)
	want := []int64{1, most, 5, -5, 3, -3}
	for range 4 {
		c.release <- fate{}
		select {
		case <-c.held:
		case <-time.After(time.Minute):
			t.Fatal("no statement")
		}
		if c.queued() == 0 {
			break
		}
	}
	c.release <- fate{}
	for i := range want {
		c.want(i, nil)
	}
	_, got := c.server.added()
	for _, n := range got {
		if n == 0 || n > most || n < -most {
			t.Errorf("a statement adds %d", n)
		}
	}
	c.wantTotal(1 + most)
	if len(got) >= len(want) {
		t.Errorf("nothing is shared: %v", got)
	}
}

// Increments of sessions that may not be as others are run by themselves.
func TestCoalesceApart(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(ctx context.Context, c *sql.Conn) error{
		"SET":       execOn("SET lock_timeout = 5"),
		"USE":       execOn("USE other"),
		"role":      execOn("SET ROLE somebody"),
		"function":  execOn("SELECT set_config('search_path', 'x', false)"),
		"temporary": execOn("CREATE TEMPORARY TABLE t (a int)"),
		"call":      execOn("CALL p()"),
		"BEGIN":     execOn("BEGIN"),
		"rolled back to a savepoint": func(ctx context.Context, c *sql.Conn) error {
			return errors.Join(execOn("BEGIN")(ctx, c), execOn("ROLLBACK TO a")(ctx, c))
		},
		"commit and chain": func(ctx context.Context, c *sql.Conn) error {
			return errors.Join(execOn("BEGIN")(ctx, c), execOn("COMMIT AND CHAIN")(ctx, c))
		},
		"the parent's connection": func(_ context.Context, c *sql.Conn) error {
			return c.Raw(func(dc any) error { dc.(*Conn).Unwrap(); return nil })
		},
		"BeginTx": func(ctx context.Context, c *sql.Conn) error { _, err := c.BeginTx(ctx, nil); return err },
		"rows": func(ctx context.Context, c *sql.Conn) error {
			_, err := c.QueryContext(ctx, "SELECT 1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			one, err := c.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := prepare(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			c.start(1)
			<-c.held
			// The one is held. This reaches the server all the same.
			done := make(chan error, 1)
			go func() {
				_, err := one.ExecContext(t.Context(), addTwo, int64(2), int64(1))
				done <- err
			}()
			select {
			case <-c.held:
			case <-time.After(time.Minute):
				t.Fatal("it waits for another's statement")
			}
			c.release <- fate{}
			c.release <- fate{}
			c.want(0, nil)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if _, got := c.server.added(); len(got) != 2 {
				t.Errorf("statements have added %v", got)
			}
		})
	}
}

func execOn(query string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, query)
		return err
	}
}

// A session that a COMMIT sent as a statement has left is as it was.
func TestCoalesceAfterCommit(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	for _, query := range []string{"BEGIN", "COMMIT"} {
		if _, err := c.db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	c.start(1)
	<-c.held
	c.queue(2, 3)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	for i := range 3 {
		c.want(i, nil)
	}
	c.wantAdded(1, 5)
}

func TestCoalesceOff(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.open(", coalesce: false")
	c.start(1)
	<-c.held
	c.start(2)
	<-c.held
	c.release <- fate{}
	c.release <- fate{}
	c.want(0, nil)
	c.want(1, nil)
	c.wantTotal(3)
}

package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

// wantRows checks what the rows have been added.
func (c *crowd) wantRows(want map[int64]int64) {
	c.Helper()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if !maps.Equal(c.server.rows, want) {
		c.Errorf("rows have been added %v, want %v", c.server.rows, want)
	}
}

// shares has increments of rows, by 2, 4, 8 and so on, queue behind one of row 1 by
// 1, lets that one end, and returns the context of the statement for all of them,
// which is then held.
func (c *crowd) shares(rows ...int64) context.Context {
	c.Helper()
	c.start(1)
	<-c.held
	for i, row := range rows {
		c.queueRow(2<<i, row)
	}
	c.release <- fate{}
	c.want(0, nil)
	return <-c.held
}

// run lets every statement succeed from now on.
func (c *crowd) run() (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c.held:
				c.release <- fate{}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// Increments of several rows share a statement, each row with its own sum.
func TestCoalesceRows(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queueRow(2, 1)
	c.queueRow(3, 2)
	c.queueRow(4, 3)
	c.queueRow(5, 2)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	for i := range c.results {
		c.want(i, nil)
	}
	c.wantAdded(1, 14)
	c.wantRows(map[int64]int64{1: 3, 2: 8, 3: 4})
}

// A row whose slots the process has not seen is counted by itself, and does not
// wait for others.
func TestCoalesceNewRow(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.startRow(2, 7)
	<-c.held
	c.release <- fate{}
	c.release <- fate{}
	c.want(0, nil)
	c.want(1, nil)
	c.wantRows(map[int64]int64{1: 1, 7: 2})
}

// When the statement for many rows fails nothing is counted twice, and what
// may be run again is, row by row.
func TestCoalesceRowsFaults(t *testing.T) {
	t.Parallel()
	all, first := map[int64]int64{1: 3, 2: 12, 3: 16}, map[int64]int64{1: 1}
	for name, tt := range map[string]struct {
		fate fate
		each error // what each member gets; nil: it succeeds in the end
		rows map[int64]int64
	}{
		"refused":             {fate{err: fake.ErrRefused}, nil, all},
		"row is missing":      {fate{nothing: true}, nil, all},
		"row is locked":       {fate{err: fake.ErrTimeout}, nil, all},
		"some rows":           {fate{some: true}, errSomeRows, all},
		"lost before":         {fate{err: errLost, kill: true}, errLost, first},
		"lost after":          {fate{err: errLost, kill: true, applied: true}, errLost, all},
		"bad connection":      {fate{err: driver.ErrBadConn, kill: true}, nil, all},
		"error of the parent": {fate{err: errOops}, errOops, first},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			c.shares(1, 2, 2, 3)
			c.release <- tt.fate // of the one for all
			defer c.run()()
			for i := 1; i <= 4; i++ {
				if tt.each == errSomeRows {
					if err := <-c.results[i]; !errors.As(err, new(*link.UnknownOutcomeError)) {
						t.Errorf("increment %d: %v", i, err)
					}
					continue
				}
				c.want(i, tt.each)
			}
			c.wantRows(tt.rows)
			c.idle(0)
		})
	}
}

var errSomeRows = errors.New("some rows")

// When the rows go on by themselves, one that waits makes no other wait, and who
// has given up by then is not counted.
func TestCoalesceRowsApart(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.shares(1, 2, 2, 3)
	for _, i := range []int{2, 4} { // of row 2 the first, of row 3 the only one
		c.cancels[i]()
		c.want(i, context.Canceled)
	}
	c.release <- fate{err: fake.ErrTimeout}
	<-c.held // row 1 and row 2 are both at the server
	<-c.held
	c.release <- fate{}
	c.release <- fate{}
	c.want(1, nil)
	c.want(3, nil)
	c.wantRows(map[int64]int64{1: 3, 2: 8})
	c.idle(0)
}

// A leader that gives up leaves a statement for many rows to the others, and
// what comes after it, too.
func TestCoalesceRowsCancelLeader(t *testing.T) {
	t.Parallel()
	for _, f := range []fate{{}, {err: fake.ErrRefused}} {
		c := newCrowd(t)
		ctx := c.shares(1, 1, 2)
		c.cancels[1]()
		c.want(1, context.Canceled)
		if ctx.Err() != nil {
			t.Error("the statement of others is cancelled")
		}
		c.release <- f
		stop := c.run()
		c.want(2, nil)
		c.want(3, nil)
		want := map[int64]int64{1: 7, 2: 8}
		if f.err != nil {
			want[1] = 5
		}
		c.wantRows(want)
		c.idle(0)
		stop()
	}
}

// A statement for many rows for which no caller waits any more is cancelled.
func TestCoalesceRowsCancelAll(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queueRow(2, 2)
	c.queueRow(4, 3)
	c.release <- fate{}
	c.want(0, nil)
	ctx := <-c.held
	for i := 1; i <= 2; i++ {
		c.cancels[i]()
		c.want(i, context.Canceled)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the statement goes on")
	}
	c.wantRows(map[int64]int64{1: 1})
	c.idle(0)
}

// What one statement may add is bounded for each row, and so is the number of
// rows.
func TestCoalesceRowsLimits(t *testing.T) {
	t.Parallel()
	const most = 1 << 40
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queueRow(most, 1)
	c.queueRow(most, 2)
	c.queueRow(1, 2)
	c.queueRow(2, 3)
	c.queueRow(-2, 3)
	c.release <- fate{}
	stop := c.run()
	for i := range c.results {
		c.want(i, nil)
	}
	stop()
	_, got := c.server.added()
	if len(got) != 3 || got[1] != 2*most+2 {
		t.Errorf("statements have added %v", got)
	}
	c.wantRows(map[int64]int64{1: most + 1, 2: most + 1, 3: 0})
}

package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
)

const addTwo = "UPDATE posts SET views = views + ? WHERE id = ?"

func addTo(ctx context.Context, db *sql.DB, n, row int64) error {
	res, err := db.ExecContext(ctx, addTwo, n, row)
	if err != nil {
		return err
	}
	if got, err := res.RowsAffected(); got != 1 || err != nil {
		return fmt.Errorf("%d rows affected, %v", got, err)
	}
	return nil
}

// A crowd is increments that wait behind one that the server holds.
type crowd struct {
	*testing.T
	server  *countServer
	db      *sql.DB
	shared  *Shared
	release chan fate // what becomes of the statement that is held
	held    chan context.Context
	results []chan error
	cancels []context.CancelFunc
}

// newCrowd has the first statement held until release gets its outcome.
func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, release: make(chan fate), held: make(chan context.Context)}
	c.server = &countServer{behave: func(ctx context.Context, st statement) fate { return c.hold(ctx, st) }}
	c.open("")
	return c
}

// open opens a database with more in the table's configuration.
func (c *crowd) open(more string) {
	c.Helper()
	wrapped := wrap(c.T, c.server, fake.Probing, "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}"+more+"}}\n")
	c.shared, c.db = wrapped.shared, sql.OpenDB(wrapped)
	c.shared.coalescer.Pace.Most = 1 // however long a test holds a statement
	c.Cleanup(func() { _ = c.db.Close() })
	c.server.warm.Store(false)
	for _, row := range []int64{1, 2, 3} { // get their slots
		if err := addTo(c.Context(), c.db, 1, row); err != nil {
			c.Fatal(err)
		}
	}
	c.server.rows = map[int64]int64{}
	c.server.warm.Store(true)
}

// hold holds every increment until the test says what becomes of it.
func (c *crowd) hold(ctx context.Context, st statement) fate {
	if st.adds == 0 {
		return fate{}
	}
	select {
	case c.held <- ctx:
	case <-ctx.Done():
		return fate{err: ctx.Err(), kill: true}
	}
	select {
	case f := <-c.release:
		return f
	case <-ctx.Done():
		return fate{err: ctx.Err(), kill: true}
	}
}

// start begins an increment by n.
func (c *crowd) start(n int64) { c.startRow(n, 1) }

func (c *crowd) startRow(n, row int64) {
	ctx, cancel := context.WithCancel(c.Context())
	c.cancels = append(c.cancels, cancel)
	done := make(chan error, 1)
	c.results = append(c.results, done)
	go func() { done <- addTo(ctx, c.db, n, row) }()
}

// queue begins one after another and waits until all are in the queue.
func (c *crowd) queue(ns ...int64) {
	c.Helper()
	for _, n := range ns {
		c.queueRow(n, 1)
	}
}

func (c *crowd) queueRow(n, row int64) {
	c.Helper()
	before := c.queued()
	c.startRow(n, row)
	for c.queued() == before {
		time.Sleep(50 * time.Microsecond)
	}
}

func (c *crowd) queued() int {
	_, waiting := c.shared.coalescer.InFlight()
	return waiting
}

func (c *crowd) want(i int, want error) {
	c.Helper()
	select {
	case err := <-c.results[i]:
		if !errors.Is(err, want) || want == nil && err != nil {
			c.Errorf("increment %d: %v, want %v", i, err, want)
		}
	case <-time.After(time.Minute):
		c.Fatalf("increment %d does not return", i)
	}
}

func (c *crowd) wantAdded(increments ...int64) {
	c.Helper()
	if _, got := c.server.added(); !slices.Equal(got, increments) {
		c.Errorf("statements have added %v, want %v", got, increments)
	}
}

func (c *crowd) wantTotal(want int64) {
	c.Helper()
	if got, _ := c.server.added(); got != want {
		c.Errorf("total %d, want %d", got, want)
	}
}

package session

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A portion is moved from the base row to a slot in a short transaction on a side connection: in
// the application's transaction the base row would stay locked until that ends. The base row is
// locked first, as by a drain, and its value is read. Then the portion leaves it and arrives in
// the slot, and before the commit the base value is compared with what it must be, as a fold does.
// The total never changes, and the slot row is created under the base row's lock, so a drain finds
// it.

// maxMovers bounds the connections that move portions.
const (
	maxMovers = 4
	// moverPatience bounds the move of a portion, including a wait of a second for the row.
	moverPatience = 2 * time.Second
	moverRest     = 10 * time.Second
	// restockPatience is how long a statement waits for it: long enough for a few round trips, and
	// short compared with a lock timeout.
	restockPatience = 150 * time.Millisecond
)

// restock has a portion moved to a slot, if it is worthwhile, and waits for that for a short time.
// The base row may be locked by the very transaction that wants the portion, by a statement that
// slotsql does not know or by the check of a foreign key. Then its statement goes to the base row,
// and the portion is for others.
func (pt *portion) restock(ctx context.Context, share int) {
	cp, done := *pt, make(chan struct{})
	cp.run = pt.run.clone()
	go func(ctx context.Context) {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, moverPatience)
		defer cancel()
		cp.restockNow(ctx, share)
	}(context.WithoutCancel(ctx))
	patience := time.NewTimer(restockPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		pt.conn.Shared.portions.Pause(pt.at.Row)
	case <-ctx.Done():
	}
}

func (pt *portion) restockNow(ctx context.Context, share int) {
	at, column, portions := pt.at, pt.form.Shares[share].Column, pt.conn.Shared.portions
	back, err := portions.Turn(ctx, at.Row)
	if err != nil {
		return
	}
	defer back()
	if _, paused := portions.Holds(at, column); paused {
		return
	}
	size, place, err := pt.move(ctx, share)
	if err != nil || size == 0 {
		portions.Pause(at.Row)
		return
	}
	portions.NoteMoved(at, column, size, place)
}

// move moves a portion. It returns its size, 0 for none, and the server that it is on.
func (pt *portion) move(ctx context.Context, share int) (size int64, place string, err error) {
	s := pt.conn.Shared
	m, ok := s.Dialect.(dialect.PortionMover)
	if !ok {
		return 0, "", errNoSide
	}
	tx := m.Moving()
	c, _, err := s.sides.movers.take(ctx, func(ctx context.Context) (*Conn, error) { return s.openSide(ctx, tx.Connected) })
	if err != nil {
		return 0, "", err
	}
	size, place, err = pt.moveOn(ctx, c, share, tx.Begin)
	if err == nil {
		end := tx.Commit
		if size == 0 {
			end = tx.Rollback
		}
		err = c.Session().ExecAll(ctx, end)
	}
	if err != nil {
		s.warnAside(ctx, "a portion of a bounded counter could not be moved to a slot, so its statements run on the base row", err)
		s.sides.movers.drop(c)
		return 0, "", err
	}
	s.sides.movers.keep(c)
	return size, place, nil
}

// moveOn runs the statements of a move, up to its commit.
func (pt *portion) moveOn(ctx context.Context, c *Conn, share int, begin []string) (size int64, place string, err error) {
	side, s, take := c.newRun(pt.run.Plan, direct{c}, pt.run.call), &pt.form.Shares[share], pt.take
	lock, err := side.bind(s.Move.Lock.Args, &take)
	if err != nil {
		return 0, "", err
	}
	list := statements(begin, "", nil, nil)
	out, err := c.inOneTrip(ctx, append(list, dialect.Statement{SQL: pt.run.sql(&s.Move.Lock), Args: lock}))
	if err != nil {
		return 0, "", err
	}
	was, ok := baseValue(link.Anys(out[len(out)-1].Rows))
	if !ok {
		return 0, "", nil
	}
	spare := was.value - was.bound
	if s.Side == schema.NeverPositive {
		spare = -spare
	}
	size = pt.conn.Shared.portions.Size(pt.at, s.Column, spare, pt.take.needs[share], s.Move.Most)
	if size == 0 {
		return 0, "", nil
	}
	take.size = size
	if s.Side == schema.NeverPositive {
		take.size = -size
	}
	for _, b := range []*rewrite.Bound{&s.Move.Less, &s.Move.Give} {
		n, err := side.step(ctx, b, &take)
		if err != nil {
			return 0, "", err
		}
		if n == 0 {
			return 0, "", errNotMoved // the slot is at the end of its range
		}
	}
	if out, err = c.inOneTrip(ctx, []dialect.Statement{{SQL: pt.run.sql(&s.Move.Lock), Args: lock}}); err != nil {
		return 0, "", err
	}
	if is, ok := baseValue(link.Anys(out[0].Rows)); !ok || is.value != was.value-take.size {
		return 0, "", errNotMoved
	}
	return size, was.place, nil
}

var errNotMoved = errors.New("slotsql: the base row or the slot does not take what is moved")

// baseRow is what a move reads of the base row.
type baseRow struct {
	place        string
	value, bound int64
}

// baseValue reads the result of a query for a base value; false if there is no row, or no bound.
func baseValue(rows [][]any) (b baseRow, ok bool) {
	if len(rows) != 1 || len(rows[0]) < 3 {
		return b, false
	}
	var errs [2]error
	b.place = link.TextOf(rows[0][0])
	b.value, errs[0] = strconv.ParseInt(link.TextOf(rows[0][1]), 10, 64)
	b.bound, errs[1] = strconv.ParseInt(link.TextOf(rows[0][2]), 10, 64)
	return b, errs[0] == nil && errs[1] == nil
}

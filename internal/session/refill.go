package session

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// A portion is moved from the base row to a slot by a short transaction of slotsql's own, on
// another connection: in that of the application the base row would stay locked until it
// ends. The base row is locked first, as by a drain, and its value read; then the portion
// leaves it and arrives in the slot, and before that is committed the base value is compared
// with what it has to be, as a fold does. The total never changes, and the slot row is made
// under the base row's lock, so that a drain meets it.

// maxMovers bounds the connections that move portions.
const (
	maxMovers = 4
	// moverPatience is for a portion to be moved, a wait of a second for the row included.
	moverPatience = 2 * time.Second
	moverRest     = 10 * time.Second
	// restockPatience is how long a statement waits for it: long enough for a few round
	// trips, and short beside what a lock is waited for.
	restockPatience = 150 * time.Millisecond
)

// restock has a portion moved to a slot, if that is worthwhile, and waits for that a little.
// The base row may be locked by the very transaction that wants the portion, by a statement
// that slotsql does not know of or the check of a foreign key: then its own statement goes
// to the base row, and the portion is for others.
func (r *Run) restock(ctx context.Context, p *rewrite.Portion, at slots.SlotRow) {
	own := *r
	own.call.args = slices.Clone(r.call.args)
	for i := range own.call.args {
		if b, ok := own.call.args[i].Value.([]byte); ok {
			own.call.args[i].Value = bytes.Clone(b) // the caller's, who may go on
		}
	}
	done := make(chan struct{})
	go func(ctx context.Context) {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, moverPatience)
		defer cancel()
		own.restockNow(ctx, p, at)
	}(context.WithoutCancel(ctx))
	patience := time.NewTimer(restockPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		r.conn.Shared.portions.Rest(at.Row)
	case <-ctx.Done():
	}
}

func (r *Run) restockNow(ctx context.Context, p *rewrite.Portion, at slots.SlotRow) {
	portions := r.conn.Shared.portions
	back, err := portions.Turn(ctx, at.Row)
	if err != nil {
		return
	}
	defer back()
	if _, _, rests := portions.Holds(at); rests {
		return
	}
	size, place, err := r.move(ctx, p, at)
	if err != nil || size == 0 {
		portions.Rest(at.Row)
		return
	}
	portions.Moved(at, size, place)
}

// move moves a portion, and returns its size, 0 for none, and the server that it is on.
func (r *Run) move(ctx context.Context, p *rewrite.Portion, at slots.SlotRow) (size int64, place string, err error) {
	s := r.conn.Shared
	m, ok := s.Dialect.(dialect.PortionMover)
	if !ok {
		return 0, "", errNoSide
	}
	connected, begin, commit, rollback := m.Moving()
	c, _, err := s.asides.movers.take(ctx, func(ctx context.Context) (*Conn, error) { return s.openSide(ctx, connected) })
	if err != nil {
		return 0, "", err
	}
	size, place, err = r.moveOn(ctx, c, p, at, begin)
	if err == nil {
		end := commit
		if size == 0 {
			end = rollback
		}
		err = c.Session().ExecAll(ctx, end)
	}
	if err != nil {
		s.asides.movers.drop(c)
		return 0, "", err
	}
	s.asides.movers.keep(c)
	return size, place, nil
}

// moveOn runs the statements of a move, up to its commit.
func (r *Run) moveOn(
	ctx context.Context, c *Conn, p *rewrite.Portion, at slots.SlotRow, begin []string,
) (size int64, place string, err error) {
	own := *r
	own.conn = c
	lock, err := own.bind(p.LockValue.Args)
	if err != nil {
		return 0, "", err
	}
	list := statements(begin, "", nil, nil)
	out, err := c.inOneTrip(ctx, append(list, dialect.Statement{SQL: p.LockValue.SQL, Args: lock}))
	if err != nil {
		return 0, "", err
	}
	was, place, ok := baseValue(returned(&out[len(out)-1]))
	if !ok {
		return 0, "", nil
	}
	size = r.conn.Shared.portions.Size(at, was-p.Min, r.take.need, p.Most)
	if size == 0 {
		return 0, "", nil
	}
	own.take.size = size
	for _, b := range []*rewrite.Bound{&p.Less, &p.Give} {
		n, err := own.step(ctx, b)
		if err != nil {
			return 0, "", err
		}
		if n == 0 {
			return 0, "", errNotMoved // the slot is at the end of its range
		}
	}
	if out, err = c.inOneTrip(ctx, []dialect.Statement{{SQL: p.LockValue.SQL, Args: lock}}); err != nil {
		return 0, "", err
	}
	if is, _, ok := baseValue(returned(&out[0])); !ok || is != was-size {
		return 0, "", errNotMoved
	}
	return size, place, nil
}

var errNotMoved = errors.New("slotsql: the base row or the slot does not take what is moved")

// baseValue reads the row of a query for a base value; false where there is none.
func baseValue(rows [][]any) (n int64, place string, ok bool) {
	if len(rows) != 1 {
		return 0, "", false
	}
	n, err := strconv.ParseInt(link.TextOf(rows[0][1]), 10, 64)
	return n, link.TextOf(rows[0][0]), err == nil
}

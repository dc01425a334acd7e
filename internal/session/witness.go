package session

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/internal/link"
)

// A witness is a side connection for questions that no session of the application can answer. A session that asks holds a connection,
// perhaps the last one that a transaction pooler or the server's max_connections allow. So a caller that can do without the answer
// does not wait long for it. One that would have to fail without it waits for as long as connecting may take on a busy server. After a
// question has gone unanswered, the next ones wait less for a while.
type witness struct {
	*sidePool
	unsure [2]atomic.Int64 // by need: until when an answer is not to be expected, in Unix nanoseconds
}

// need is what an answer is worth to the caller.
type need int

const (
	wanted need = iota // there is another way, as exact
	needed             // without it the transaction fails
)

// patience is how long to wait for a connection, by need; unsurePatience, after a question has
// gone unanswered.
var (
	patience       = [2]time.Duration{wanted: 300 * time.Millisecond, needed: 3 * time.Second}
	unsurePatience = [2]time.Duration{wanted: 20 * time.Millisecond, needed: 300 * time.Millisecond}
)

const (
	answerPatience = 5 * time.Second // for the answer: a server always gives one, if only that a lock is held
	unsureFor      = 10 * time.Second
)

// errUnheard is returned if the witness could not be asked in time, or not be reached.
var errUnheard = errors.New("slotsql: could not ask another connection in time: the server needs one to spare")

func newWitness() *witness {
	return &witness{sidePool: newSidePool(1, 0)}
}

// query asks the witness. It asks for a needed answer twice, the second time on a new connection:
// the kept one may be dead without having reported it. A server that refuses the connection has
// none left, and is not asked again.
func (w *witness) query(ctx context.Context, s *Shared, n need, q string, args ...any) ([][]any, error) {
	limit, tries := patience[n], 1
	switch {
	case time.Now().UnixNano() < w.unsure[n].Load():
		limit = unsurePatience[n]
	case n == needed:
		tries = 2
	}
	for {
		rows, late, err := w.try(ctx, s, limit, q, args)
		if err == nil {
			for i := range w.unsure {
				w.unsure[i].Store(0)
			}
			return rows, nil
		}
		if !errors.Is(err, errUnheard) {
			return nil, err
		}
		if tries--; tries == 0 || !late {
			w.unsure[n].Store(time.Now().Add(unsureFor).UnixNano())
			return nil, err
		}
	}
}

// try asks once. Late reports whether no answer came in time, rather than a refusal.
func (w *witness) try(ctx context.Context, s *Shared, limit time.Duration, q string, args []any) (rows [][]any, late bool, err error) {
	brief, cancel := context.WithCancel(ctx)
	defer cancel()
	reached := time.AfterFunc(limit, cancel) // stopped when the session has a connection
	defer reached.Stop()
	rows, err = w.askOnce(brief, s, reached, q, args)
	switch e := link.EngineOf(s.Dialect); {
	case err == nil:
		return rows, false, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case brief.Err() == nil && e.LockTimeout(err):
		return nil, false, err
	}
	return nil, brief.Err() != nil, errUnheard
}

func (w *witness) askOnce(ctx context.Context, s *Shared, reached *time.Timer, q string, args []any) ([][]any, error) {
	if !s.OpensAside {
		return nil, errUnheard
	}
	for {
		c, fresh, err := w.take(ctx, func(ctx context.Context) (*Conn, error) {
			raw, err := s.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			return WrapConn(s, raw), nil
		})
		if err != nil {
			return nil, err
		}
		rows, err := link.WithContext(ctx, &s.Database, func() ([][]any, error) {
			return c.ask(ctx, reached, q, args)
		}, func([][]any, error) { c.closeSide() })
		switch {
		case err == nil:
			w.keep(c)
			return rows, nil
		case errors.Is(err, link.ErrAbandoned):
			w.abandon()
			return nil, err
		}
		w.drop(c)
		if fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// ask waits for locks only as long as OneState says: the session that it waits for (an ALTER TABLE
// of the slot table, say) may itself wait for the transaction that is asking.
func (c *Conn) ask(ctx context.Context, reached *time.Timer, q string, args []any) ([][]any, error) {
	begin, end := c.DB.Dialect.OneState()
	if _, err := c.inOneTrip(ctx, statements(begin, "", nil, nil)); err != nil {
		return nil, err
	}
	reached.Reset(answerPatience)
	out, err := c.inOneTrip(ctx, statements(nil, q, args, end))
	if err != nil {
		return nil, err
	}
	return link.Anys(out[0].Rows), nil
}

package session

import (
	"context"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
)

// observers are connections of slotsql's own that are asked what others have committed
// while a transaction of the application, which must not look for itself, waits for
// the answer.
type observers struct {
	*sidePool
	asking sync.Mutex
	common map[string]*baseAnswer // that several transactions ask and that have not been sent, see basevalue.go
}

// maxObservers bounds the connections. observerPatience is how long an answer is waited
// for, and observerRest how long none is made after one could not be: a caller that asks
// has locks.
const (
	maxObservers     = 8
	observerPatience = time.Second
	observerRest     = 10 * time.Second
)

func newObservers() *observers {
	return &observers{sidePool: newSidePool(maxObservers, observerRest), common: map[string]*baseAnswer{}}
}

// query asks a question, and calls before, if it is given, when it is about to be sent.
func (o *observers) query(ctx context.Context, s *Shared, n dialect.SlotNamer, before func(), q string, args ...any) ([][]any, error) {
	if !s.OpensAside {
		return nil, errNoSide
	}
	ctx, cancel := context.WithTimeout(ctx, observerPatience)
	defer cancel()
	return link.Soon(ctx, &s.Database, func() ([][]any, error) {
		return o.queryAside(ctx, s, n, before, q, args)
	}, func([][]any, error) {})
}

// queryAside is query, and may not return when ctx has ended.
func (o *observers) queryAside(ctx context.Context, s *Shared, n dialect.SlotNamer, before func(), q string, args []any) ([][]any, error) {
	connected, begin, end := n.Observer()
	for {
		c, fresh, err := o.take(ctx, func(ctx context.Context) (*Conn, error) { return s.openSide(ctx, connected, begin) })
		if err != nil {
			return nil, err
		}
		if before != nil {
			before()
		}
		rows, err := c.Session().Query(ctx, q, args...)
		if err == nil {
			go o.renew(c, end, begin)
			return rows, nil
		}
		o.drop(c)
		if fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// renew ends a connection's transaction and begins that of the next question, before it
// comes, and gives the connection back.
func (o *observers) renew(c *Conn, end, begin []string) {
	ctx, cancel := context.WithTimeout(context.Background(), observerPatience)
	defer cancel()
	if err := c.Session().ExecAll(ctx, end, begin); err != nil {
		o.drop(c)
		return
	}
	o.keep(c)
}

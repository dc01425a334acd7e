package session

import (
	"context"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
)

// observers are side connections that answer what other sessions have committed, while a
// transaction of the application waits for the answer. The transaction must not ask itself: that
// would take its snapshot.
type observers struct {
	*sidePool
	asking sync.Mutex
	common map[string]*baseAnswer // by question: those that several transactions share and that have not been sent, see basevalue.go
}

// maxObservers bounds the connections. observerPatience is how long a caller, which holds locks,
// waits for an answer; observerRest, how long no connection is opened after one could not be.
const (
	maxObservers     = 8
	observerPatience = time.Second
	observerRest     = 10 * time.Second
)

func newObservers() *observers {
	return &observers{sidePool: newSidePool(maxObservers, observerRest), common: map[string]*baseAnswer{}}
}

// query asks a question. It calls before, if not nil, when the question is about to be sent.
func (o *observers) query(ctx context.Context, s *Shared, n dialect.SlotNamer, before func(), q string, args ...any) ([][]any, error) {
	if !s.OpensAside {
		return nil, errNoSide
	}
	ctx, cancel := context.WithTimeout(ctx, observerPatience)
	defer cancel()
	return link.WithContext(ctx, &s.Database, func() ([][]any, error) {
		return o.queryAside(ctx, s, n, before, q, args)
	}, func([][]any, error) {})
}

// queryAside is query, but may return later than the end of ctx.
func (o *observers) queryAside(ctx context.Context, s *Shared, n dialect.SlotNamer, before func(), q string, args []any) ([][]any, error) {
	connected, begin := n.Observer()
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
			go o.renew(c, begin)
			return rows, nil
		}
		o.drop(c)
		if fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// renew gives a connection back after it has begun the transaction of the next question.
func (o *observers) renew(c *Conn, begin []string) {
	ctx, cancel := context.WithTimeout(context.Background(), observerPatience)
	defer cancel()
	if err := c.Session().ExecAll(ctx, begin); err != nil {
		o.drop(c)
		return
	}
	o.keep(c)
}

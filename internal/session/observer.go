package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// observers are connections of slotsql's own that are asked what others have committed
// while a transaction of the application, which must not look for itself, waits for
// the answer. They are made when they are needed, and kept.
type observers struct {
	mu    sync.Mutex
	idle  []*Conn
	busy  chan struct{} // one for each connection in use
	shut  time.Time     // none is made before: it has failed
	ended bool
}

// maxObservers bounds the connections. observerPatience is how long an answer is waited
// for, and observerRest how long none is made after one could not be: a caller that asks
// has locks.
const (
	maxObservers     = 8
	observerPatience = time.Second
	observerRest     = 10 * time.Second
)

var errNoObserver = errors.New("no connection available")

// query asks a question, and calls before when it is about to be sent.
func (o *observers) query(ctx context.Context, s *Shared, n dialect.SlotNamer, before func(), q string, args ...any) ([][]any, error) {
	ctx, cancel := context.WithTimeout(ctx, observerPatience)
	defer cancel()
	busy := o.places()
	select {
	case busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		c, fresh, err := o.take(ctx, s, n)
		if err != nil {
			<-busy
			return nil, err
		}
		if before != nil {
			before()
		}
		rows, err := c.Session().Query(ctx, q, args...)
		if err == nil {
			// The next question's transaction is begun before it comes.
			go func() {
				defer func() { <-busy }()
				o.give(c, n)
			}()
			return rows, nil
		}
		_ = c.Parent.Close()
		if fresh || ctx.Err() != nil {
			<-busy
			return nil, err
		}
	}
}

func (o *observers) places() chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy == nil {
		o.busy = make(chan struct{}, maxObservers)
	}
	return o.busy
}

// take returns a connection with a transaction begun.
func (o *observers) take(ctx context.Context, s *Shared, n dialect.SlotNamer) (c *Conn, fresh bool, err error) {
	o.mu.Lock()
	if i := len(o.idle); i > 0 {
		c, o.idle = o.idle[i-1], o.idle[:i-1]
		o.mu.Unlock()
		return c, false, nil
	}
	resting := o.ended || time.Now().Before(o.shut)
	o.mu.Unlock()
	if !s.OpensAside || resting {
		return nil, false, errNoObserver
	}
	raw, err := s.Dial(ctx)
	if err == nil {
		c = WrapConn(s, raw)
		connected, begin, _ := n.Observer()
		if d, ok := s.Dialect.(dialect.OwnSettings); ok {
			connected = append(d.OwnSettings(), connected...)
		}
		if err = c.Session().ExecAll(ctx, connected, begin); err == nil {
			return c, true, nil
		}
		_ = raw.Close()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = time.Now().Add(observerRest)
	return nil, false, err
}

// give ends the connection's transaction, begins the next and puts it back.
func (o *observers) give(c *Conn, n dialect.SlotNamer) {
	ctx, cancel := context.WithTimeout(context.Background(), observerPatience)
	defer cancel()
	_, begin, end := n.Observer()
	err := c.Session().ExecAll(ctx, end, begin)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || o.ended {
		_ = c.Parent.Close()
		return
	}
	o.idle = append(o.idle, c)
}

func (o *observers) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	for _, c := range o.idle {
		_ = c.Parent.Close()
	}
	o.idle = nil
}

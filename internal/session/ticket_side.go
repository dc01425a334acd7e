package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/slots"
)

// tickets are the blocks of numbers that a process has leased, and the connections on which
// it leases them beside transactions.
type tickets struct {
	blocks  *slots.Tickets
	holding slots.Holding
	side    leasers
	level   atomic.Int32 // that transactions have which ask for none, once it is known
}

func newTickets(oneWriter bool) *tickets {
	h := slots.HoldingFor(oneWriter)
	return &tickets{blocks: slots.NewTickets(h.Draw), holding: h}
}

// leasers are connections of slotsql's own. The zero value has none.
type leasers struct {
	mu    sync.Mutex
	idle  []*Conn
	busy  int
	shut  time.Time // none is made before: one could not be
	ended bool
}

const (
	maxLeasers    = 4
	leaserRest    = 10 * time.Second
	leasePatience = 2 * time.Second
)

var errNoLeaser = errors.New("slotsql: no connection available to lease a block")

// take returns a connection, if there is one to be had at once.
func (l *leasers) take(ctx context.Context, s *Shared) (*Conn, error) {
	d, ok := s.Dialect.(dialect.TicketLeaser)
	l.mu.Lock()
	if !ok || !s.OpensAside || l.ended || l.busy >= maxLeasers || len(l.idle) == 0 && time.Now().Before(l.shut) {
		l.mu.Unlock()
		return nil, errNoLeaser
	}
	l.busy++
	if i := len(l.idle); i > 0 {
		c := l.idle[i-1]
		l.idle = l.idle[:i-1]
		l.mu.Unlock()
		return c, nil
	}
	l.mu.Unlock()
	c, err := l.open(ctx, s, d)
	if err != nil {
		l.mu.Lock()
		l.busy--
		l.shut = time.Now().Add(leaserRest)
		l.mu.Unlock()
	}
	return c, err
}

func (l *leasers) open(ctx context.Context, s *Shared, d dialect.TicketLeaser) (*Conn, error) {
	raw, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := WrapConn(s, raw)
	if err := c.Session().ExecAll(ctx, d.Leasing()); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// give puts a connection back, or closes one that may not be well.
func (l *leasers) give(c *Conn, well bool) {
	l.mu.Lock()
	l.busy--
	keep := well && !l.ended
	if keep {
		l.idle = append(l.idle, c)
	}
	l.mu.Unlock()
	if !keep {
		c.Kept.Close()
		_ = c.Parent.Close()
	}
}

func (l *leasers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, c := range l.idle {
		c.Kept.Close()
		_ = c.Parent.Close()
	}
	l.idle = nil
}

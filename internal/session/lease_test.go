package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/slots"
)

// leasing is a dialect whose leases are in memory.
type leasing struct {
	fake.Engine
	held map[string]string
	err  error
	asks int
}

func (*leasing) CreateLeases() []string { return nil }

func (l *leasing) Leased(context.Context, dialect.Session) (map[string]bool, error) {
	l.asks++
	out := map[string]bool{}
	for name := range l.held {
		out[name] = true
	}
	return out, l.err
}

func (l *leasing) Lease(_ context.Context, _ dialect.Session, name, holder string, _ int) (bool, error) {
	l.asks++
	if l.err != nil {
		return false, l.err
	}
	if l.held[name] == "" {
		l.held[name] = holder
	}
	return l.held[name] == holder, nil
}

// Processes lease parts that lie apart; one that loses its part takes another,
// and whatever else happens goes on with the slots it has.
func TestLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLease)
}

func testLease(t *testing.T) {
	l := &leasing{Engine: fake.Probing, held: map[string]string{}}
	open := func() *Conn {
		cfg, err := config.Parse([]byte("version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s := New(l, cfg)
		s.OpensAside, s.Dial = true, func(context.Context) (driver.Conn, error) { return &countConn{server: &countServer{}}, nil }
		t.Cleanup(s.Close)
		c, err := NewConn(t.Context(), s, &countConn{server: &countServer{}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the lease, for which no connection waits
		return c
	}
	const n = 64
	first := func(c *Conn) int64 { return c.node.Range.Slot(0, n) }
	var conns []*Conn
	for i, want := range []int64{0, 32, 16, 48, 8} {
		conns = append(conns, open())
		if got := first(conns[i]); got != want {
			t.Errorf("process %d begins at slot %d, want %d", i, got, want)
		}
	}
	later := func(c *Conn) {
		time.Sleep(2 * time.Second)                                 // a look is due
		c.node.Range.Due.CompareAndSwap(c.node.Range.Due.Load(), 1) // as if time had passed
		if _, err := c.Plan(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	asks := l.asks
	if _, err := conns[1].Plan(t.Context(), "SELECT 1"); err != nil || l.asks != asks {
		t.Errorf("a lease that is not due is looked after: %v", err)
	}
	later(conns[1])
	if got := first(conns[1]); got != 32 || l.asks != asks+1 {
		t.Errorf("after a renewal it begins at %d", got)
	}
	l.err = errors.New("unavailable")
	later(conns[1])
	if got := first(conns[1]); got != 32 {
		t.Errorf("after an error it begins at %d", got)
	}
	l.err = nil
	l.held[slots.PartName(1)] = "another"
	later(conns[1])
	if got := first(conns[1]); got != 40 {
		t.Errorf("after a loss it begins at %d", got)
	}
	for part := range slots.MaxParts {
		l.held[slots.PartName(part)] = "another"
	}
	later(conns[1])
	if part := conns[1].node.Range.Part.Load(); part != -1 {
		t.Errorf("it has part %d of others", part)
	}
	l.err = fake.ErrChanged // no such table
	later(conns[1])
	asks = l.asks
	if _, err := conns[1].Plan(t.Context(), "SELECT 1"); err != nil || l.asks != asks {
		t.Errorf("without a table it asks again: %v", err)
	}
	if due := conns[2].node.Range.Due.Load(); due < time.Now().Add(slots.LeaseRenewal/2).UnixNano() {
		t.Error("the next look is soon")
	}
	if bad := open(); first(bad) < 0 || first(bad) >= n {
		t.Error("no slot without a lease")
	}
}

// Once the first connection has learnt what there is to learn, the next ones
// send nothing when they are opened.
func TestSecondConnection(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		server := &fake.Server{}
		db := openFake(t, d, fake.Connector{Server: server})
		first, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		server.Arm(nil)
		second, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if ran := server.Ran(); len(ran) > 0 {
			t.Errorf("%s: the second connection has run %q", way, ran)
		}
	}
}

package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
)

// slowServer is a server whose connections take their time, or never come, or lead
// nowhere.
type slowServer struct {
	connect time.Duration
	refused error
	opened  atomic.Int32
	dead    bool // its connections no longer answer
	forgets bool // those that have idled for OwnIdle no longer do
}

func (s *slowServer) open(ctx context.Context) (driver.Conn, error) {
	s.opened.Add(1)
	if s.refused != nil {
		return nil, s.refused
	}
	select {
	case <-time.After(s.connect):
		return &slowConn{server: s, used: time.Now()}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type slowConn struct {
	server *slowServer
	dead   bool
	used   time.Time
}

func (c *slowConn) answer(ctx context.Context) error {
	idled := time.Since(c.used)
	c.used = time.Now()
	if c.dead = c.dead || c.server.dead || c.server.forgets && idled >= link.OwnIdle; c.dead {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c *slowConn) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), c.answer(ctx)
}

func (c *slowConn) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	return noRows{}, c.answer(ctx)
}

func (*slowConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not offered") }
func (*slowConn) Begin() (driver.Tx, error)           { return nil, errors.New("not offered") }
func (*slowConn) Close() error                        { return nil }

type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// askSlow asks a witness, and reports whether there was an answer and how long it took.
func askSlow(t *testing.T, s *Shared, n need) (heard bool, took time.Duration) {
	t.Helper()
	start := time.Now()
	_, err := s.sides.witness.query(t.Context(), s, n, "SELECT 1")
	if err != nil && !errors.Is(err, errUnheard) {
		t.Fatal(err)
	}
	return err == nil, time.Since(start)
}

func newSlow(t *testing.T, server *slowServer) *Shared {
	t.Helper()
	const text = "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"
	parsed, err := config.Parse([]byte(text), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := New(fake.Probing, parsed)
	s.Dial, s.OpensAside = server.open, true
	return s
}

// No statement fails only because a connection took long, where nothing else says what the
// answer would; who can do without does not wait for it.
func TestWitnessPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow(t, &slowServer{connect: 2 * time.Second})
		if heard, took := askSlow(t, s, wanted); heard || took > time.Second {
			t.Errorf("wanted: heard %v after %v", heard, took)
		}
		if heard, took := askSlow(t, s, needed); !heard || took != 2*time.Second {
			t.Errorf("needed: heard %v after %v", heard, took)
		}
		if heard, took := askSlow(t, s, wanted); !heard || took != 0 {
			t.Errorf("wanted, of the kept connection: heard %v after %v", heard, took)
		}
	})
}

// A kept connection that leads nowhere is replaced.
func TestWitnessReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &slowServer{}
		s := newSlow(t, server)
		askSlow(t, s, needed)
		s.sides.witness.idle[0].Parent.(*slowConn).dead = true
		if heard, took := askSlow(t, s, needed); !heard || server.opened.Load() != 2 {
			t.Errorf("heard %v after %v, %d connections", heard, took, server.opened.Load())
		}
	})
}

// No question waits for a connection that a balancer has dropped because it idled.
func TestWitnessForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow(t, &slowServer{forgets: true})
		for _, n := range []need{wanted, needed, wanted} {
			if heard, took := askSlow(t, s, n); !heard || took != 0 {
				t.Errorf("need %d: heard %v after %v", n, heard, took)
			}
			time.Sleep(link.OwnIdle)
		}
	})
}

// Where the pooler or the server has no connection left, no statement waits for long: at once
// where it says so; else the first for some seconds, and the next ones hardly.
func TestWitnessExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow(t, &slowServer{refused: errors.New("too many clients")})
		if heard, took := askSlow(t, s, needed); heard || took != 0 {
			t.Errorf("refused: heard %v after %v", heard, took)
		}
		s = newSlow(t, &slowServer{dead: true})
		if heard, took := askSlow(t, s, needed); heard || took > 10*time.Second {
			t.Errorf("dead: heard %v after %v", heard, took)
		}
		for range 3 {
			if heard, took := askSlow(t, s, needed); heard || took > time.Second {
				t.Errorf("dead again: heard %v after %v", heard, took)
			}
		}
	})
}

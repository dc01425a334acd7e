package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
)

// versionServer is a database of one row with a version, which statements change that expect it. Everything else of a statement is up to
// fate.
type versionServer struct {
	mu      sync.Mutex
	version int64
	title   string  // of the last one that has changed it
	sent    []int64 // what each statement has expected
	fate    func(ctx context.Context, expects int64) fate
}

type versionConn struct {
	countConn
	server *versionServer
}

func (s *versionServer) Connect(context.Context) (driver.Conn, error) {
	return &versionConn{countConn: countConn{server: &countServer{}}, server: s}, nil
}
func (s *versionServer) Driver() driver.Driver            { return s }
func (s *versionServer) Open(string) (driver.Conn, error) { return s.Connect(context.Background()) }

func (c *versionConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !strings.HasPrefix(query, "UPDATE posts") {
		return driver.RowsAffected(0), nil
	}
	if !c.busy.TryLock() {
		return nil, errBusy
	}
	defer c.busy.Unlock()
	if c.dead {
		return nil, driver.ErrBadConn
	}
	s, expects := c.server, args[2].Value.(int64)
	f := s.fate(ctx, expects)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.dead = f.kill
	s.sent = append(s.sent, expects)
	if f.err != nil && !f.applied {
		return nil, f.err
	}
	if s.version != expects {
		return driver.RowsAffected(0), f.err
	}
	if !strings.Contains(query, "views = 0") {
		s.version++
	}
	s.title = args[0].Value.(string)
	return driver.RowsAffected(1), f.err
}

// QueryContext answers whether the row still has the version.
func (c *versionConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, left := c.server, int64(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(query, "SELECT 1 FROM posts WHERE") && s.version == args[1].Value.(int64) {
		left = 1
	}
	return &stillRows{left}, nil
}

type stillRows struct{ left int64 }

func (*stillRows) Columns() []string { return []string{"1"} }
func (*stillRows) Close() error      { return nil }
func (r *stillRows) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	dest[0] = int64(1)
	return nil
}

// editors are callers of a versionServer.
type editors struct {
	*testing.T
	server *versionServer
	conn   *testConnector
	db     *sql.DB
	held   chan heldEdit
}

// heldEdit is a statement that is at the server, and waits for its fate.
type heldEdit struct {
	expects int64
	fate    chan fate
}

// hold makes editors whose statements the test holds.
func hold(t *testing.T) *editors {
	t.Helper()
	e := &editors{T: t, held: make(chan heldEdit), server: &versionServer{}}
	e.server.fate = func(ctx context.Context, expects int64) fate {
		h := heldEdit{expects, make(chan fate)}
		select {
		case e.held <- h:
			return <-h.fate
		case <-ctx.Done():
			return fate{err: ctx.Err(), kill: true}
		}
	}
	e.open()
	return e
}

func (e *editors) open() {
	e.Helper()
	e.conn = wrap(e.T, e.server, slotlessEngine{fake.Probing}, "version: 1\ntables: {posts: {versions: [views]}}\n")
	e.db = sql.OpenDB(e.conn)
	e.Cleanup(func() { _ = e.db.Close() })
}

const editPost = "UPDATE posts SET title = ?, views = views + 1 WHERE id = ? AND views = ?"

// edit begins an edit, whose result comes from the channel: the rows affected, or an error.
func (e *editors) edit(ctx context.Context, query, title string, expects int64) chan any {
	done := make(chan any, 1)
	go func() {
		res, err := e.db.ExecContext(ctx, query, title, 1, expects)
		if err != nil {
			done <- err
			return
		}
		n, _ := res.RowsAffected()
		done <- n
	}()
	return done
}

// queue begins edits, and waits until they wait behind one that is held.
func (e *editors) queue(ctx context.Context, query string, expects int64, titles ...string) (done []chan any) {
	e.Helper()
	for _, title := range titles {
		_, before := e.conn.shared.coalescer.InFlight()
		done = append(done, e.edit(ctx, query, title, expects))
		began := time.Now()
		for waiting := before; waiting == before; _, waiting = e.conn.shared.coalescer.InFlight() {
			if time.Sleep(50 * time.Microsecond); time.Since(began) > time.Minute {
				e.Fatalf("edit %q is not in the queue", title)
			}
		}
	}
	return done
}

// next returns the next statement at the server, which has to expect a version.
func (e *editors) next(expects int64) chan fate {
	e.Helper()
	select {
	case h := <-e.held:
		if h.expects != expects {
			e.Fatalf("a statement expects version %d, not %d", h.expects, expects)
		}
		return h.fate
	case <-time.After(time.Minute):
		e.Fatalf("no statement expects version %d", expects)
		return nil
	}
}

func (e *editors) want(done []chan any, want any) {
	e.Helper()
	for i, d := range done {
		select {
		case got := <-d:
			if err, ok := want.(error); got != want && !(ok && errors.Is(got.(error), err)) {
				e.Errorf("edit %d: %v, want %v", i, got, want)
			}
		case <-time.After(time.Minute):
			e.Fatalf("edit %d does not return", i)
		}
	}
}

func (e *editors) wantSent(version int64, title string, sent ...int64) {
	e.Helper()
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	if !slices.Equal(e.server.sent, sent) || e.server.version != version || e.server.title != title {
		e.Errorf("version %d by %q after statements that expect %v; want %d by %q after %v", e.server.version, e.server.title, e.server.sent, version, title, sent)
	}
}

// Of edits that queue behind another one, one is sent; who expects another version does not wait.
func TestCompareAndSetSendsOne(t *testing.T) {
	for _, wins := range []bool{true, false} {
		e := hold(t)
		first := e.edit(t.Context(), editPost, "first", 0)
		release := e.next(0)
		queued := e.queue(t.Context(), editPost, 0, "a", "b", "c", "d")
		other := e.edit(t.Context(), editPost, "other", 7)
		e.next(7) <- fate{}
		e.want([]chan any{other}, int64(0))
		if wins { // the first one of those that queue, since the one before them fails
			release <- fate{err: fake.ErrRefused}
			e.want([]chan any{first}, fake.ErrRefused)
		} else {
			release <- fate{}
			e.want([]chan any{first}, int64(1))
		}
		e.next(0) <- fate{}
		if wins {
			won := slices.IndexFunc(queued, func(done chan any) bool {
				n := <-done
				done <- n
				return n == int64(1)
			})
			if won < 0 {
				t.Fatal("none has won")
			}
			e.want(queued[won:won+1], int64(1))
			queued = slices.Delete(queued, won, won+1)
			e.want(queued, int64(0))
			e.wantSent(1, string(rune('a'+won)), 7, 0, 0)
		} else {
			e.want(queued, int64(0))
			e.wantSent(1, "first", 7, 0, 0)
		}
	}
}

// The error of the one that is sent is nobody else's, whether or not it is known what has become of it: the others run by themselves.
func TestCompareAndSetErrorIsItsOwn(t *testing.T) {
	lost := fate{err: errLost, kill: true}
	for _, f := range []fate{{err: fake.ErrRefused}, {err: fake.ErrTimeout}, lost, {err: errLost, kill: true, applied: true}} {
		e := hold(t)
		first := e.edit(t.Context(), editPost, "first", 7)
		release := e.next(7)
		queued := e.queue(t.Context(), editPost, 7, "a", "b", "c")
		e.server.mu.Lock()
		e.server.version = 7
		e.server.mu.Unlock()
		release <- fate{err: fake.ErrRefused}
		e.want([]chan any{first}, fake.ErrRefused)
		e.next(7) <- f
		for range 2 { // not the one that failed
			e.next(7) <- fate{}
		}
		var failed, won int
		for _, done := range queued {
			switch got := <-done; got {
			case int64(1):
				won++
			case int64(0):
			default:
				failed++
			}
		}
		want := 1
		if f.applied {
			want = 0
		}
		if failed != 1 || won != want {
			t.Errorf("%+v: %d failed, %d won", f, failed, won)
		}
	}
}

// What keeps the version takes it from nobody: the row is asked for, and the others run by themselves.
func TestCompareAndSetKeepsVersion(t *testing.T) {
	const keep = "UPDATE posts SET title = ?, views = 0 WHERE id = ? AND views = ?"
	e := hold(t)
	first := e.edit(t.Context(), keep, "first", 0)
	release := e.next(0)
	queued := e.queue(t.Context(), keep, 0, "a", "b", "c")
	release <- fate{}
	e.want([]chan any{first}, int64(1))
	for range queued {
		e.next(0) <- fate{}
	}
	e.want(queued, int64(1))
}

// One that has given up before it was sent is not sent. The leader's statement goes on for the others when its caller gives up.
func TestCompareAndSetGivesUp(t *testing.T) {
	e := hold(t)
	first := e.edit(t.Context(), editPost, "first", 5)
	release := e.next(5)
	ctx, cancel := context.WithCancel(t.Context())
	gone := e.queue(ctx, editPost, 5, "gone")
	cancel()
	e.want(gone, context.Canceled)
	leading, stop := context.WithCancel(t.Context())
	leader := e.queue(leading, editPost, 5, "leader")
	queued := e.queue(t.Context(), editPost, 5, "a", "b")
	release <- fate{}
	e.want([]chan any{first}, int64(0))
	release = e.next(5)
	stop()
	e.want(leader, context.Canceled)
	release <- fate{}
	e.want(queued, int64(0))
	e.wantSent(0, "", 5, 5)
}

// For random schedules: each version is taken once, what is acknowledged is in the row, and nobody loses to a version that has been there
// all the time.
func TestCompareAndSetSchedules(t *testing.T) {
	t.Parallel()
	before := groupedNow()
	for seed := range uint64(30) {
		s := &versionServer{fate: func(ctx context.Context, _ int64) fate {
			switch n := rand.IntN(60); {
			case n < 5:
				return []fate{
					{err: fake.ErrRefused}, {err: fake.ErrConflict}, {err: errLost, kill: true},
					{err: errLost, kill: true, applied: true}, {err: driver.ErrBadConn, kill: true},
				}[n]
			case n < 40:
				select {
				case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
				case <-ctx.Done():
					return fate{err: ctx.Err(), kill: true, applied: rand.IntN(2) == 0}
				}
			}
			return fate{}
		}}
		e := &editors{T: t, server: s}
		e.open()
		e.db.SetMaxOpenConns(24)
		var mu sync.Mutex
		takenBy := map[int64]string{}
		var unknown int64
		callers(seed, func(ctx context.Context, caller int, n int64) {
			s.mu.Lock()
			expects := s.version - n/4 // sometimes what was there before
			s.mu.Unlock()
			title := fmt.Sprint(caller, " ", n)
			res, err := e.db.ExecContext(ctx, editPost, title, 1, expects)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				affected, _ := res.RowsAffected()
				s.mu.Lock()
				if affected == 0 && s.version == expects {
					t.Errorf("seed %d: lost to version %d, which is there", seed, expects)
				}
				s.mu.Unlock()
				if affected == 1 && takenBy[expects] != "" {
					t.Errorf("seed %d: version %d taken by %s and by %s", seed, expects, takenBy[expects], title)
				}
				if affected == 1 {
					takenBy[expects] = title
				}
			case errors.Is(err, errBusy):
				t.Error(err)
			case !notApplied(err):
				unknown++
			}
		})
		(&crowd{T: t, shared: e.conn.shared, db: e.db}).idle(seed)
		if taken := int64(len(takenBy)); s.version < taken || s.version > taken+unknown {
			t.Errorf("seed %d: version %d; %d acknowledged, %d of unknown end", seed, s.version, taken, unknown)
		}
	}
	if groupedNow() == before {
		t.Error("no executions have shared a statement")
	}
}

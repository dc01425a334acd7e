package slotsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countServer is a database that keeps no more than the sum of what has been
// added, and does with each statement what a test says.
type countServer struct {
	mu     sync.Mutex
	warm   atomic.Bool // what comes counts
	total  int64
	rows   map[int64]int64 // by row
	ran    []statement
	behave func(ctx context.Context, st statement) fate
}

// statement is one that has reached the server. Of an increment, adds is what
// it adds.
type statement struct {
	conn *countConn
	text string
	adds int64
	rows map[int64]int64 // what it adds to each row
}

// fate is what becomes of a statement. The zero value lets it run.
type fate struct {
	err     error
	applied bool // for all that err says
	kill    bool // the connection is gone
	nothing bool // no row is affected
	some    bool // one is not
}

func (s *countServer) do(ctx context.Context, st statement) (driver.Result, error) {
	if st.conn.dead {
		return nil, driver.ErrBadConn
	}
	var f fate
	if !s.warm.Load() {
		return driver.RowsAffected(1), nil
	}
	if s.behave != nil {
		f = s.behave(ctx, st)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, st)
	st.conn.dead = st.conn.dead || f.kill
	if f.nothing {
		return driver.RowsAffected(0), nil
	}
	if f.err == nil || f.applied {
		s.total += st.adds
		for row, n := range st.rows {
			s.rows[row] += n
		}
	}
	n := max(len(st.rows), 1)
	if f.some {
		n--
	}
	return driver.RowsAffected(n), f.err
}

// added returns the sum, and increments what each statement has added.
func (s *countServer) added() (total int64, increments []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.ran {
		if st.adds != 0 {
			increments = append(increments, st.adds)
		}
	}
	return s.total, increments
}

type countConn struct {
	server *countServer
	dead   bool
	closed bool
	busy   sync.Mutex // held by a statement: a connection runs one at a time
}

var errBusy = errors.New("two statements at a time on one connection")

func (c *countConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !c.busy.TryLock() {
		return nil, errBusy
	}
	defer c.busy.Unlock()
	st := statement{conn: c, text: text}
	// The texts are the SQLite dialect's: of the upsert the first argument is
	// the slot, and the second what is added.
	one := func(adds, row any) { st.rows = map[int64]int64{row.(int64): adds.(int64)} }
	switch {
	case strings.HasPrefix(text, `INSERT INTO "main"."posts_slots"`):
		one(args[1].Value, args[2].Value)
	case strings.HasPrefix(text, `UPDATE "main"."posts_slots"`):
		one(args[0].Value, args[1].Value)
	case strings.HasPrefix(text, "UPDATE posts"):
		one(args[0].Value, args[1].Value)
	case strings.HasPrefix(text, "WITH slotsql_v"):
		var rows [][3]int64 // key, slot, what is added
		if err := json.Unmarshal([]byte(args[0].Value.(string)), &rows); err != nil || int64(len(rows)) != args[1].Value {
			return nil, fmt.Errorf("%v: %w", args, err)
		}
		st.rows = map[int64]int64{}
		for _, r := range rows {
			st.rows[r[0]] = r[2]
		}
	}
	for _, n := range st.rows {
		st.adds += n
	}
	return c.server.do(ctx, st)
}

func (c *countConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &bareRows{}, nil
}
func (c *countConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (c *countConn) Begin() (driver.Tx, error)           { return countTx{}, nil }
func (c *countConn) IsValid() bool                       { return !c.dead }
func (c *countConn) ConnInTransaction() bool             { return false }
func (c *countConn) Close() error {
	if !c.busy.TryLock() {
		return errBusy
	}
	c.closed = true
	return nil
}

type countTx struct{}

func (countTx) Commit() error   { return nil }
func (countTx) Rollback() error { return nil }

func (s *countServer) Connect(context.Context) (driver.Conn, error) {
	return &countConn{server: s}, nil
}
func (s *countServer) Driver() driver.Driver            { return s }
func (s *countServer) Open(string) (driver.Conn, error) { return s.Connect(context.Background()) }

const addTwo = "UPDATE posts SET views = views + ? WHERE id = ?"

func add(ctx context.Context, db *sql.DB, n int64) error { return addTo(ctx, db, n, 1) }

func addTo(ctx context.Context, db *sql.DB, n, row int64) error {
	res, err := db.ExecContext(ctx, addTwo, n, row)
	if err != nil {
		return err
	}
	if got, err := res.RowsAffected(); got != 1 || err != nil {
		return fmt.Errorf("%d rows affected, %v", got, err)
	}
	return nil
}

// A crowd is increments that wait behind one that the server holds.
type crowd struct {
	*testing.T
	server  *countServer
	db      *sql.DB
	shared  *shared
	release chan fate // what becomes of the statement that is held
	held    chan context.Context
	results []chan error
	cancels []context.CancelFunc
}

// newCrowd has the first statement held until release is told its fate.
func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, release: make(chan fate), held: make(chan context.Context)}
	c.server = &countServer{behave: func(ctx context.Context, st statement) fate { return c.hold(ctx, st) }}
	c.open("")
	return c
}

// open opens a database with more in the table's configuration.
func (c *crowd) open(more string) {
	c.Helper()
	config, err := Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}"+more+"}}\n"), "slotsql.yaml")
	if err != nil {
		c.Fatal(err)
	}
	wrapped, err := WrapConnector(c.server, probing, config)
	if err != nil {
		c.Fatal(err)
	}
	c.shared, c.db = wrapped.(*connector).shared, sql.OpenDB(wrapped)
	c.shared.coalescer.pace.most = 1 // however long a test holds a statement
	c.Cleanup(func() { _ = c.db.Close() })
	c.server.warm.Store(false)
	for _, row := range []int64{1, 2, 3} { // get their slots
		if err := addTo(c.Context(), c.db, 1, row); err != nil {
			c.Fatal(err)
		}
	}
	c.server.rows = map[int64]int64{}
	c.server.warm.Store(true)
}

// hold holds every increment until the test says what becomes of it.
func (c *crowd) hold(ctx context.Context, st statement) fate {
	if st.adds == 0 {
		return fate{}
	}
	select {
	case c.held <- ctx:
	case <-ctx.Done():
		return fate{err: ctx.Err(), kill: true}
	}
	select {
	case f := <-c.release:
		return f
	case <-ctx.Done():
		return fate{err: ctx.Err(), kill: true}
	}
}

// start begins an increment by n.
func (c *crowd) start(n int64) { c.startRow(n, 1) }

func (c *crowd) startRow(n, row int64) {
	ctx, cancel := context.WithCancel(c.Context())
	c.cancels = append(c.cancels, cancel)
	done := make(chan error, 1)
	c.results = append(c.results, done)
	go func() { done <- addTo(ctx, c.db, n, row) }()
}

// queue begins one after another and waits until all are in the queue.
func (c *crowd) queue(ns ...int64) {
	c.Helper()
	for _, n := range ns {
		c.queueRow(n, 1)
	}
}

func (c *crowd) queueRow(n, row int64) {
	c.Helper()
	before := c.queued()
	c.startRow(n, row)
	for c.queued() == before {
		time.Sleep(50 * time.Microsecond)
	}
}

func (c *crowd) queued() (n int) {
	for i := range c.shared.coalescer.shards {
		s := &c.shared.coalescer.shards[i]
		s.mu.Lock()
		for _, g := range s.groups {
			n += len(g.queue)
		}
		s.mu.Unlock()
	}
	return n
}

func (c *crowd) want(i int, want error) {
	c.Helper()
	select {
	case err := <-c.results[i]:
		if !errors.Is(err, want) || want == nil && err != nil {
			c.Errorf("increment %d: %v, want %v", i, err, want)
		}
	case <-time.After(20 * time.Second):
		c.Fatalf("increment %d does not return", i)
	}
}

func (c *crowd) wantAdded(increments ...int64) {
	c.Helper()
	if _, got := c.server.added(); !slices.Equal(got, increments) {
		c.Errorf("statements have added %v, want %v", got, increments)
	}
}

func (c *crowd) wantTotal(want int64) {
	c.Helper()
	if got, _ := c.server.added(); got != want {
		c.Errorf("total %d, want %d", got, want)
	}
}

func TestCoalesceOne(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 3, -1, 5)
	c.release <- fate{}
	<-c.held
	c.queue(7)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	for i := range c.results {
		c.want(i, nil)
	}
	c.wantAdded(1, 9, 7)
}

var errClass = map[string]struct {
	fate  fate
	each  error // what each member gets; nil: it runs by itself, and succeeds
	total int64
}{
	"refused":             {fate{err: errRefused}, nil, 15},
	"undone":              {fate{err: errConflict}, nil, 15},
	"no row":              {fate{nothing: true}, nil, 15},
	"waited in vain":      {fate{err: errTimeout}, errTimeout, 1},
	"lost before":         {fate{err: errLost, kill: true}, errLost, 1},
	"lost after":          {fate{err: errLost, kill: true, applied: true}, errLost, 15},
	"bad connection":      {fate{err: driver.ErrBadConn, kill: true}, nil, 15},
	"wrapped bad":         {fate{err: fmt.Errorf("net: %w", driver.ErrBadConn), kill: true}, nil, 15},
	"error of the parent": {fate{err: errOops}, errOops, 1},
}

// When the shared statement fails each member gets the error that it would have
// had, and nothing is counted twice.
func TestCoalesceFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range errClass {
		atEachStep(t, name, func(t *testing.T, c *crowd) {
			c.release <- tt.fate
			stop := make(chan struct{})
			go func() { // all others run
				for {
					select {
					case <-c.held:
						c.release <- fate{}
					case <-stop:
						return
					}
				}
			}()
			for i := 1; i <= 3; i++ {
				c.want(i, tt.each)
			}
			close(stop)
			c.wantTotal(tt.total)
			c.idle(0)
		})
	}
}

// atEachStep runs f when three increments, numbers 1 to 3, share a statement
// that the server holds: the short update of a slot row, or the upsert that
// follows when the row has gone.
func atEachStep(t *testing.T, name string, f func(t *testing.T, c *crowd)) {
	for _, step := range []string{"update", "upsert"} {
		t.Run(name+"/"+step, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			c.start(1)
			<-c.held
			c.queue(2, 4, 8)
			c.release <- fate{}
			c.want(0, nil)
			<-c.held
			if step == "upsert" {
				c.release <- fate{nothing: true}
				<-c.held
			}
			f(t, c)
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			i := slices.IndexFunc(c.server.ran, func(st statement) bool { return st.adds == 14 })
			if i < 0 || !strings.HasPrefix(c.server.ran[i].text, "UPDATE") {
				t.Error("the first of the shared ones is no update")
			}
		})
	}
}

// A shared statement that hangs holds nobody who gives up, and ends with the last.
func TestCoalesceHangs(t *testing.T) {
	t.Parallel()
	atEachStep(t, "hang", func(t *testing.T, c *crowd) {
		for i := 1; i <= 3; i++ {
			c.cancels[i]()
			c.want(i, context.Canceled)
		}
		c.idle(0)
		c.wantTotal(1)
		c.start(16) // on another connection
		<-c.held
		c.release <- fate{}
		c.want(4, nil)
		c.wantTotal(17)
	})
}

// A caller that gives up before a statement has taken it along is not counted,
// and nobody else notices.
func TestCoalesceCancelQueued(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4, 8)
	c.cancels[1]() // would have led
	c.want(1, context.Canceled)
	c.cancels[2]()
	c.want(2, context.Canceled)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	c.want(0, nil)
	c.want(3, nil)
	c.wantAdded(1, 8)
}

// A leader that gives up returns at once. Its statement goes on for the others,
// and so counts; its connection is not used by anybody else meanwhile.
func TestCoalesceCancelLeader(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4)
	c.release <- fate{}
	ctx := <-c.held
	c.cancels[1]()
	c.want(1, context.Canceled)
	if ctx.Err() != nil {
		t.Error("the statement of others is cancelled")
	}
	for range 4 { // on every idle connection, and new ones
		if err := c.db.PingContext(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := c.db.ExecContext(t.Context(), "DELETE FROM log"); err != nil {
			t.Error(err)
		}
	}
	c.release <- fate{}
	c.want(0, nil)
	c.want(2, nil)
	c.wantAdded(1, 6)
}

// A statement for which nobody waits any more is cancelled.
func TestCoalesceCancelAll(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(2, 4)
	c.release <- fate{}
	ctx := <-c.held
	c.cancels[2]()
	c.want(2, context.Canceled)
	if ctx.Err() != nil {
		t.Error("the statement of the leader is cancelled")
	}
	c.cancels[1]()
	c.want(1, context.Canceled)
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Error("the statement goes on")
	}
	c.want(0, nil)
	c.wantTotal(1)
}

// A lone caller's context is the statement's own.
func TestCoalesceCancelAlone(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.start(1)
	ctx := <-c.held
	c.queue(2)
	c.cancels[0]()
	<-ctx.Done()
	c.want(0, context.Canceled)
	<-c.held
	c.release <- fate{}
	c.want(1, nil)
	c.wantTotal(2)
}

// What one statement may add is bounded, and a sum of nothing is not sent:
// engines differ in what it affects.
func TestCoalesceLimits(t *testing.T) {
	t.Parallel()
	const most = 1 << 40
	c := newCrowd(t)
	c.start(1)
	<-c.held
	c.queue(most, 5, -5, 3, -3)
	want := []int64{1, most, 5, -5, 3, -3}
	for range 4 {
		c.release <- fate{}
		select {
		case <-c.held:
		case <-time.After(20 * time.Second):
			t.Fatal("no statement")
		}
		if c.queued() == 0 {
			break
		}
	}
	c.release <- fate{}
	for i := range want {
		c.want(i, nil)
	}
	_, got := c.server.added()
	for _, n := range got {
		if n == 0 || n > most || n < -most {
			t.Errorf("a statement adds %d", n)
		}
	}
	c.wantTotal(1 + most)
	if len(got) >= len(want) {
		t.Errorf("nothing is shared: %v", got)
	}
}

// Increments of sessions that may not be as others are run by themselves.
func TestCoalesceApart(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(ctx context.Context, c *sql.Conn) error{
		"SET":       execOn("SET lock_timeout = 5"),
		"USE":       execOn("USE other"),
		"role":      execOn("SET ROLE somebody"),
		"function":  execOn("SELECT set_config('search_path', 'x', false)"),
		"temporary": execOn("CREATE TEMPORARY TABLE t (a int)"),
		"call":      execOn("CALL p()"),
		"BEGIN":     execOn("BEGIN"),
		"rolled back to a savepoint": func(ctx context.Context, c *sql.Conn) error {
			return errors.Join(execOn("BEGIN")(ctx, c), execOn("ROLLBACK TO a")(ctx, c))
		},
		"commit and chain": func(ctx context.Context, c *sql.Conn) error {
			return errors.Join(execOn("BEGIN")(ctx, c), execOn("COMMIT AND CHAIN")(ctx, c))
		},
		"the parent's connection": func(_ context.Context, c *sql.Conn) error {
			return c.Raw(func(dc any) error { dc.(*conn).Unwrap(); return nil })
		},
		"BeginTx": func(ctx context.Context, c *sql.Conn) error { _, err := c.BeginTx(ctx, nil); return err },
		"rows": func(ctx context.Context, c *sql.Conn) error {
			_, err := c.QueryContext(ctx, "SELECT 1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			one, err := c.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := prepare(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			c.start(1)
			<-c.held
			// The one is held. This reaches the server all the same.
			done := make(chan error, 1)
			go func() {
				_, err := one.ExecContext(t.Context(), addTwo, int64(2), int64(1))
				done <- err
			}()
			select {
			case <-c.held:
			case <-time.After(20 * time.Second):
				t.Fatal("it waits for another's statement")
			}
			c.release <- fate{}
			c.release <- fate{}
			c.want(0, nil)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if _, got := c.server.added(); len(got) != 2 {
				t.Errorf("statements have added %v", got)
			}
		})
	}
}

func execOn(text string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, text)
		return err
	}
}

// A session that a COMMIT by text has left is as it was.
func TestCoalesceAfterCommit(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	for _, text := range []string{"BEGIN", "COMMIT"} {
		if _, err := c.db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	c.start(1)
	<-c.held
	c.queue(2, 3)
	c.release <- fate{}
	<-c.held
	c.release <- fate{}
	for i := range 3 {
		c.want(i, nil)
	}
	c.wantAdded(1, 5)
}

func TestCoalesceOff(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.open(", coalesce: false")
	c.start(1)
	<-c.held
	c.start(2)
	<-c.held
	c.release <- fate{}
	c.release <- fate{}
	c.want(0, nil)
	c.want(1, nil)
	c.wantTotal(3)
}

// For random schedules: what is acknowledged is counted, what has been
// cancelled before it began or refused is not, and of what came to an unknown
// end at most all of it.
func TestCoalesceSchedules(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 10
	}
	for seed := range uint64(runs) {
		schedule(t, seed)
	}
}

// idle waits for the statements that have outlived their callers, after which
// nobody may lead or wait.
func (c *crowd) idle(seed uint64) {
	c.Helper()
	deadline := time.Now().Add(time.Minute)
	for i := range c.shared.coalescer.shards {
		s := &c.shared.coalescer.shards[i]
		for {
			leaders, waiting := s.members()
			if leaders == 0 && waiting == 0 {
				break
			}
			if time.Now().After(deadline) {
				c.Fatalf("seed %d: %d lead and %d wait after the end", seed, leaders, waiting)
			}
			time.Sleep(time.Millisecond)
		}
	}
	for c.shared.placement.held() > 0 {
		if time.Now().After(deadline) {
			c.Fatalf("seed %d: slots of %d rows are held after the end", seed, c.shared.placement.held())
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *coalescerShard) members() (leaders, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		leaders += g.leaders
		waiting += len(g.queue)
	}
	return leaders, waiting
}

func schedule(t *testing.T, seed uint64) {
	t.Helper()
	fates := []fate{{err: errRefused}, {err: errConflict}, {nothing: true}, {err: errTimeout}, {err: errLost, kill: true}, {err: errLost, kill: true, applied: true},
		{err: driver.ErrBadConn, kill: true}, {err: errOops, applied: true}}
	server := &countServer{behave: func(ctx context.Context, st statement) fate {
		if st.adds == 0 {
			return fate{}
		}
		switch n := rand.IntN(40); {
		case n < len(fates):
			return fates[n]
		case n < 20:
			select {
			case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
			case <-ctx.Done():
				return fate{err: ctx.Err(), kill: true, applied: rand.IntN(2) == 0}
			}
		}
		return fate{}
	}}
	c := &crowd{T: t, server: server}
	c.open("")
	c.shared.coalescer.pace.most = 1 + int(seed%3)
	c.db.SetMaxOpenConns(24)
	var mu sync.Mutex
	var acknowledged, unknown [6]int64 // by row; 4 and 5 have no slots yet
	var wg sync.WaitGroup
	for client := range uint64(16) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, client))
			for range 30 {
				n, row := 1+rnd.Int64N(5), 1+rnd.Int64N(int64(1+seed%5))
				ctx, cancel := context.WithCancel(t.Context())
				before := rnd.IntN(10) == 0
				switch {
				case before:
					cancel()
				case rnd.IntN(4) == 0:
					time.AfterFunc(time.Duration(rnd.IntN(400))*time.Microsecond, cancel)
				}
				err := addTo(ctx, c.db, n, row)
				cancel()
				mu.Lock()
				switch {
				case err == nil:
					acknowledged[row] += n
				case before || errors.Is(err, errRefused) || errors.Is(err, errConflict) || errors.Is(err, errTimeout):
				case errors.Is(err, errBusy):
					t.Error(err)
				default:
					unknown[row] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.idle(seed)
	for row := range int64(len(unknown)) {
		if n := server.rows[row]; n < acknowledged[row] || n > acknowledged[row]+unknown[row] {
			t.Errorf("seed %d, row %d: %d counted, %d acknowledged, %d of unknown end", seed, row, n, acknowledged[row], unknown[row])
		}
	}
	var placed int
	for i := range c.shared.placement.shards {
		placed += len(c.shared.placement.shards[i].taken)
	}
	if placed != 0 {
		t.Errorf("seed %d: slots of %d rows are taken after the end", seed, placed)
	}
}

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// stockServer is a database of one row with one number, which statements take from while
// it is enough, or draw numbers from. Everything else of a statement is up to fate.
type stockServer struct {
	mu    sync.Mutex
	views int64
	row   bool  // an upsert has made it
	most  int64 // what a statement may add or take at once; more is an error, as of a CHECK
	other bool  // a statement has named another row
	fate  func(ctx context.Context) fate
}

type stockConn struct {
	countConn
	stock    *stockServer
	insertID int64
}

// do runs a statement, and returns the number in the row.
func (c *stockConn) do(ctx context.Context, query string, args []driver.NamedValue) (n, affected int64, err error) {
	upsert := strings.HasPrefix(query, "INSERT INTO posts")
	if !upsert && !strings.HasPrefix(query, "UPDATE posts") {
		return 0, 1, nil
	}
	if !c.busy.TryLock() {
		return 0, 0, errBusy
	}
	defer c.busy.Unlock()
	if c.dead {
		return 0, 0, driver.ErrBadConn
	}
	f := c.stock.fate(ctx)
	s := c.stock
	s.mu.Lock()
	defer s.mu.Unlock()
	c.dead = f.kill
	if key, ok := args[1].Value.([]byte); ok && string(key) != "1" {
		s.other = true
	}
	amount, affected := args[0].Value.(int64), int64(1)
	if upsert {
		amount = args[1].Value.(int64)
	}
	if amount > s.most {
		return 0, 0, fake.ErrRefused
	}
	if f.err != nil && !f.applied {
		return 0, 0, f.err
	}
	if strings.Contains(query, "views - ") {
		if s.views < args[2].Value.(int64) {
			return 0, 0, f.err
		}
		amount = -amount
	}
	s.views += amount
	if upsert && s.row {
		affected = 2
	}
	s.row = s.row || upsert
	if strings.Contains(query, "LAST_INSERT_ID(") {
		c.insertID = s.views
	}
	return s.views, affected, f.err
}

func (c *stockConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if value, ok := strings.CutPrefix(query, "SET LAST_INSERT_ID = "); ok {
		if c.dead {
			return nil, driver.ErrBadConn
		}
		_, err := fmt.Sscan(value, &c.insertID)
		return driver.RowsAffected(0), err
	}
	_, n, err := c.do(ctx, query, args)
	return stockResult{driver.RowsAffected(n), c.insertID}, err
}

func (c *stockConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if query == "SELECT LAST_INSERT_ID()" {
		if c.dead {
			return nil, driver.ErrBadConn
		}
		return &stockRows{n: c.insertID, left: 1}, nil
	}
	n, affected, err := c.do(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &stockRows{n: n, left: affected}, nil
}

func (s *stockServer) Connect(context.Context) (driver.Conn, error) {
	return &stockConn{countConn: countConn{server: &countServer{}}, stock: s}, nil
}
func (s *stockServer) Driver() driver.Driver            { return s }
func (s *stockServer) Open(string) (driver.Conn, error) { return s.Connect(context.Background()) }

type stockResult struct {
	driver.Result
	insertID int64
}

func (r stockResult) LastInsertId() (int64, error) { return r.insertID, nil }

type stockRows struct{ n, left int64 }

func (*stockRows) Columns() []string { return []string{"views"} }
func (*stockRows) Close() error      { return nil }
func (r *stockRows) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	dest[0] = r.n
	return nil
}

// slotlessEngine has no slot table.
type slotlessEngine struct{ fake.Engine }

// Describe implements the dialect.
func (d slotlessEngine) Describe(
	ctx context.Context, s dialect.Session, names []dialect.WrittenName, temporary dialect.Temporary,
) ([]*schema.Table, error) {
	out, err := d.Engine.Describe(ctx, s, names, temporary)
	for i, n := range names {
		if n.Name == "posts_slots" {
			out[i] = nil
		}
	}
	return out, err
}

// Table implements the dialect.
func (d slotlessEngine) Table(ctx context.Context, s dialect.Session, schema, name string) (*schema.Table, error) {
	if name == "posts_slots" {
		return nil, nil
	}
	return d.Engine.Table(ctx, s, schema, name)
}

// schedules runs f for random schedules of what becomes of statements and their callers.
func schedules(t *testing.T, f func(t *testing.T, seed uint64, s *stockServer, db *sql.DB)) {
	t.Helper()
	schedulesOn(t, slotlessEngine{fake.Probing}, f)
}

func schedulesOn(t *testing.T, engine dialect.Dialect, f func(t *testing.T, seed uint64, s *stockServer, db *sql.DB)) {
	t.Helper()
	runs := 40
	if testing.Short() {
		runs = 8
	}
	before := groupedNow()
	for seed := range uint64(runs) {
		s := &stockServer{most: 12, fate: func(ctx context.Context) fate {
			switch n := rand.IntN(60); {
			case n < 6:
				return []fate{
					{err: fake.ErrRefused}, {err: fake.ErrConflict}, {err: fake.ErrTimeout},
					{err: errLost, kill: true}, {err: errLost, kill: true, applied: true}, {err: driver.ErrBadConn, kill: true},
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
		wrapped := wrap(t, s, engine, "version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n")
		db := sql.OpenDB(wrapped)
		db.SetMaxOpenConns(24)
		f(t, seed, s, db)
		(&crowd{T: t, shared: wrapped.shared, db: db}).idle(seed)
		_ = db.Close()
	}
	if groupedNow() == before {
		t.Error("no executions have shared a statement on the base row")
	}
}

// callers runs f many times by many callers, some of whom give up at any moment.
func callers(seed uint64, f func(ctx context.Context, caller int, n int64)) {
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(caller)))
			for range 30 {
				ctx, cancel := context.WithCancel(context.Background())
				switch {
				case rnd.IntN(12) == 0:
					cancel()
				case rnd.IntN(4) == 0:
					time.AfterFunc(time.Duration(rnd.IntN(400))*time.Microsecond, cancel)
				}
				f(ctx, caller, 1+rnd.Int64N(4))
				cancel()
			}
		})
	}
	wg.Wait()
}

// notApplied reports whether an error means that nothing has come of a statement.
func notApplied(err error) bool {
	return errors.Is(err, fake.ErrRefused) || errors.Is(err, fake.ErrConflict) || errors.Is(err, fake.ErrTimeout)
}

// A stock is never oversold, what is acknowledged is sold, and no caller is refused that could
// have had what is there all the time.
func TestGuardSchedules(t *testing.T) {
	t.Parallel()
	schedules(t, func(t *testing.T, seed uint64, s *stockServer, db *sql.DB) {
		const stock = 700
		s.views = stock
		var mu sync.Mutex
		var sold, unknown int64
		callers(seed, func(ctx context.Context, _ int, n int64) {
			res, err := db.ExecContext(ctx, "UPDATE posts SET views = views - ? WHERE id = ? AND views >= ?", n, 1, n)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				affected, _ := res.RowsAffected()
				sold += affected * n
				s.mu.Lock()
				if affected == 0 && s.views >= n {
					t.Errorf("seed %d: %d refused of %d", seed, n, s.views)
				}
				s.mu.Unlock()
			case errors.Is(err, errBusy):
				t.Error(err)
			case !notApplied(err):
				unknown += n
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if gone := stock - s.views; s.views < 0 || gone < sold || gone > sold+unknown {
			t.Errorf("seed %d: %d left of %d; %d acknowledged, %d of unknown end", seed, s.views, stock, sold, unknown)
		}
	})
}

// A caller that has given up may reuse its arguments, while the statement that it leads goes on for the others.
func TestArgumentsReusedSchedules(t *testing.T) {
	t.Parallel()
	schedules(t, func(t *testing.T, seed uint64, s *stockServer, db *sql.DB) {
		callers(seed, func(ctx context.Context, _ int, n int64) {
			key := []byte("1")
			_, err := db.ExecContext(ctx, "UPDATE posts SET views = views + ? WHERE id = ?", n, key)
			copy(key, "2")
			if errors.Is(err, errBusy) {
				t.Error(err)
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.other {
			t.Errorf("seed %d: a statement has counted in a row that its caller has written meanwhile", seed)
		}
	})
}

// Numbers drawn are unique, each range by itself; no range is given away twice, and a
// later caller has a later one.
func TestDrawSchedules(t *testing.T) {
	t.Parallel()
	schedules(t, func(t *testing.T, seed uint64, s *stockServer, db *sql.DB) {
		var mu sync.Mutex
		taken := map[int64]bool{}
		var highest, drawn, unknown int64
		callers(seed, func(ctx context.Context, _ int, n int64) {
			mu.Lock()
			least := highest
			mu.Unlock()
			var last int64
			err := db.QueryRowContext(ctx, "UPDATE posts SET views = views + ? WHERE id = ? RETURNING views", n, 1).Scan(&last)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				drawn += n
				highest = max(highest, last)
				if last-n < least {
					t.Errorf("seed %d: %d to %d drawn after %d", seed, last-n+1, last, least)
				}
				for i := last - n + 1; i <= last; i++ {
					if taken[i] {
						t.Errorf("seed %d: %d drawn twice", seed, i)
					}
					taken[i] = true
				}
			case errors.Is(err, errBusy), errors.Is(err, sql.ErrNoRows):
				t.Error(fmt.Errorf("seed %d: %w", seed, err))
			case !notApplied(err):
				unknown += n
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.views < drawn || s.views > drawn+unknown || highest > s.views {
			t.Errorf("seed %d: the row has %d; %d drawn up to %d, %d of unknown end", seed, s.views, drawn, highest, unknown)
		}
	})
}

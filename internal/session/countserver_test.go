package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/integration/fake"
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
	sql  string
	adds int64
	rows map[int64]int64 // what it adds to each row
}

// fate is what becomes of a statement. The zero value lets it run.
type fate struct {
	err     error
	applied bool // for all that err says
	kill    bool // the connection is gone
	nothing bool // no row is affected
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
	return driver.RowsAffected(1), f.err
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

func (c *countConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.busy.TryLock() {
		return nil, errBusy
	}
	defer c.busy.Unlock()
	st := statement{conn: c, sql: query}
	// The statements are the SQLite dialect's: of the upsert the first argument is
	// the slot, and the second what is added.
	one := func(adds, row any) { st.rows = map[int64]int64{row.(int64): adds.(int64)} }
	switch {
	case strings.HasPrefix(query, `INSERT INTO "main"."posts_slots"`):
		one(args[1].Value, args[2].Value)
	case strings.HasPrefix(query, `UPDATE "main"."posts_slots"`):
		one(args[0].Value, args[1].Value)
	case strings.HasPrefix(query, "UPDATE posts"):
		one(args[0].Value, args[1].Value)
	}
	for _, n := range st.rows {
		st.adds += n
	}
	return c.server.do(ctx, st)
}

func (c *countConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &fake.BareRows{}, nil
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

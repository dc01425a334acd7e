package slotsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite"
)

// fakeServer is a database of which only the life of transactions is real: it
// keeps which texts have been run and have not been undone.
type fakeServer struct {
	mu        sync.Mutex
	committed []string // texts that write, in order
	log       []string // every call: "exec TEXT", "prepare TEXT", ...
	conns     []*fakeSession
	affected  func(text string) int64
	// fault is asked before every text is run, with the number of texts run
	// since the last arm.
	fault func(step int, text string) *misfortune
	step  int
	args  [][]driver.NamedValue // of each text run
}

// misfortune is what goes wrong with one text.
type misfortune struct {
	err   error
	after bool // the text is run all the same
	kill  bool // the connection is gone
	hang  bool // until the context is done, whose error is returned
	// undone: the server has rolled back the transaction
	undone bool
}

// fakeSession is the server's end of a connection.
type fakeSession struct {
	server  *fakeServer
	dead    bool
	closed  bool
	open    bool // in a transaction
	pending []string
	marks   []int // of pending, one for each savepoint
	outer   bool  // the outermost savepoint is the transaction
}

func (s *fakeServer) arm(f func(step int, text string) *misfortune) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.step, s.log, s.args = f, 0, nil, nil
}

func (s *fakeServer) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// count returns how often a text has been run for good.
func (s *fakeServer) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.committed {
		if t == text {
			n++
		}
	}
	return n
}

// leftOpen returns how many connections are in a transaction and can be used.
func (s *fakeServer) leftOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.conns {
		if c.open && !c.closed && !c.dead {
			n++
		}
	}
	return n
}

func (c *fakeSession) drop() {
	c.dead, c.open, c.pending, c.marks, c.outer = true, false, nil, nil, false
}

var errNoSavepoint = errors.New("no such savepoint")

// run runs one text.
func (c *fakeSession) run(ctx context.Context, text string, args []driver.NamedValue) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	s := c.server
	s.mu.Lock()
	if c.dead || c.closed {
		s.mu.Unlock()
		return 0, driver.ErrBadConn
	}
	var f *misfortune
	s.log = append(s.log, "run "+text)
	s.args = append(s.args, args)
	if s.fault != nil {
		f = s.fault(s.step, text)
	}
	s.step++
	if f != nil && f.hang {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		f.err = ctx.Err()
	}
	defer s.mu.Unlock()
	if f == nil || f.after {
		if err := c.apply(text); err != nil {
			return 0, err
		}
	}
	if f != nil {
		if f.kill {
			c.drop()
		}
		if f.undone {
			c.open, c.pending, c.marks, c.outer = false, nil, nil, false
		}
		return 0, f.err
	}
	if s.affected != nil {
		return s.affected(text), nil
	}
	return 1, nil
}

func (c *fakeSession) apply(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "BEGIN", "START":
		c.open, c.marks, c.outer = true, nil, false
	case "SAVEPOINT":
		c.outer = c.outer || !c.open
		c.open, c.marks = true, append(c.marks, len(c.pending))
	case "ROLLBACK":
		if !strings.HasPrefix(rest, "TO ") {
			c.open, c.pending = false, nil
			break
		}
		if !c.open || len(c.marks) == 0 {
			return errNoSavepoint
		}
		c.pending = c.pending[:c.marks[len(c.marks)-1]]
	case "COMMIT", "RELEASE":
		if word == "RELEASE" {
			if !c.open || len(c.marks) == 0 {
				return errNoSavepoint
			}
			if c.marks = c.marks[:len(c.marks)-1]; len(c.marks) > 0 || !c.outer {
				break
			}
		}
		c.server.committed = append(c.server.committed, c.pending...)
		c.open, c.pending, c.marks, c.outer = false, nil, nil, false
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
		if c.open {
			c.pending = append(c.pending, text)
		} else {
			c.server.committed = append(c.server.committed, text)
		}
	}
	return nil
}

// fakeConn is a parent's connection with the current interfaces.
type fakeConn struct{ bareConn }

// bareConn has what driver.Conn demands and no more.
type bareConn struct {
	session  *fakeSession
	stmt     func(*bareStmt) driver.Stmt
	rows     func(*bareRows) driver.Rows
	skipExec bool // as go-sql-driver/mysql with arguments
	valid    bool
}

func (c *bareConn) Prepare(q string) (driver.Stmt, error) {
	c.session.server.note("prepare " + q)
	s := &bareStmt{conn: c, text: q, inputs: strings.Count(q, "?")}
	if c.stmt != nil {
		return c.stmt(s), nil
	}
	return &fakeStmt{bareStmt: s}, nil
}

func (c *bareConn) Close() error {
	c.session.server.mu.Lock()
	defer c.session.server.mu.Unlock()
	c.session.closed, c.session.open, c.session.pending = true, false, nil
	return nil
}

func (c *bareConn) Begin() (driver.Tx, error) {
	if _, err := c.session.run(context.Background(), "BEGIN", nil); err != nil {
		return nil, err
	}
	return &fakeTx{c.session}, nil
}

func (c *bareConn) ConnInTransaction() bool { return c.session.open }

func (c *bareConn) query(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if _, err := c.session.run(ctx, q, args); err != nil {
		return nil, err
	}
	r := &bareRows{session: c.session, left: 1}
	if c.rows != nil {
		return c.rows(r), nil
	}
	return r, nil
}

func (c *fakeConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.session.dead {
		return nil, driver.ErrBadConn
	}
	return c.Prepare(q)
}

func (c *fakeConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.session.server.note(fmt.Sprintf("begin %d %v", o.Isolation, o.ReadOnly))
	if _, err := c.session.run(ctx, "BEGIN", nil); err != nil {
		return nil, err
	}
	return &fakeTx{c.session}, nil
}

func (c *fakeConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if c.skipExec && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	n, err := c.session.run(ctx, q, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(n), nil
}

func (c *fakeConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if c.skipExec && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	return c.query(ctx, q, args)
}

func (c *fakeConn) IsValid() bool { return !c.session.dead }

func (c *fakeConn) Ping(context.Context) error {
	c.session.server.note("ping")
	return nil
}

func (c *fakeConn) ResetSession(context.Context) error {
	if c.session.dead {
		return driver.ErrBadConn
	}
	return nil
}

// odd is an argument that only a NamedValueChecker lets through.
type odd struct{ n int64 }

func (c *fakeConn) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(odd); ok {
		v.Value = o.n
		return nil
	}
	return driver.ErrSkip
}

// legacyConn has the interfaces of before contexts.
type legacyConn struct{ bareConn }

func (c *legacyConn) Exec(q string, args []driver.Value) (driver.Result, error) {
	n, err := c.session.run(context.Background(), q, named(args))
	return driver.RowsAffected(n), err
}

func (c *legacyConn) Query(q string, args []driver.Value) (driver.Rows, error) {
	return c.query(context.Background(), q, named(args))
}

type fakeTx struct{ session *fakeSession }

func (t *fakeTx) Commit() error {
	_, err := t.session.run(context.Background(), "COMMIT", nil)
	return err
}

func (t *fakeTx) Rollback() error {
	_, err := t.session.run(context.Background(), "ROLLBACK", nil)
	return err
}

// bareStmt has what driver.Stmt demands and no more.
type bareStmt struct {
	conn   *bareConn
	text   string
	inputs int
	closed bool
}

func (s *bareStmt) Close() error {
	s.closed = true
	s.conn.session.server.note("close " + s.text)
	return nil
}
func (s *bareStmt) NumInput() int { return s.inputs }
func (s *bareStmt) Exec(args []driver.Value) (driver.Result, error) {
	n, err := s.conn.session.run(context.Background(), s.text, named(args))
	return driver.RowsAffected(n), err
}
func (s *bareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.conn.query(context.Background(), s.text, named(args))
}

// fakeStmt has the interfaces with contexts.
type fakeStmt struct{ *bareStmt }

func (s *fakeStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	n, err := s.conn.session.run(ctx, s.text, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(n), nil
}
func (s *fakeStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(ctx, s.text, args)
}

// checkingStmt has its own NamedValueChecker, convertingFake converters.
type checkingStmt struct{ *fakeStmt }

func (s checkingStmt) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(odd); ok {
		v.Value = o.n * 100
		return nil
	}
	return driver.ErrSkip
}

type convertingFake struct{ *fakeStmt }

func (s convertingFake) ColumnConverter(int) driver.ValueConverter { return thousandfold{} }

type thousandfold struct{}

func (thousandfold) ConvertValue(v any) (driver.Value, error) {
	n, err := driver.Int32.ConvertValue(v)
	if err != nil {
		return nil, err
	}
	return n.(int64) * 1000, nil
}

// bareRows has what driver.Rows demands and no more.
type bareRows struct {
	session *fakeSession
	left    int
	err     error // instead of the row
	closed  bool
}

func (r *bareRows) Columns() []string { return []string{"views"} }
func (r *bareRows) Close() error      { r.closed = true; return nil }
func (r *bareRows) Next(dest []driver.Value) error {
	if r.err != nil {
		return r.err
	}
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	dest[0] = int64(7)
	return nil
}

// typedFake has every optional interface of rows.
type typedFake struct {
	*bareRows
	sets int
}

func (r *typedFake) HasNextResultSet() bool { return r.sets > 0 }
func (r *typedFake) NextResultSet() error {
	if r.sets == 0 {
		return io.EOF
	}
	r.sets--
	r.left = 1
	return nil
}
func (r *typedFake) ColumnTypeDatabaseTypeName(int) string              { return "WONDER" }
func (r *typedFake) ColumnTypeLength(int) (int64, bool)                 { return 11, true }
func (r *typedFake) ColumnTypeNullable(int) (bool, bool)                { return true, true }
func (r *typedFake) ColumnTypePrecisionScale(int) (p, s int64, ok bool) { return 12, 3, true }
func (r *typedFake) ColumnTypeScanType(int) reflect.Type                { return reflect.TypeFor[odd]() }

// fakeDialect is the SQLite dialect with facts made up, and with its ways
// changed to those of other engines.
type fakeDialect struct {
	*sqlite.Dialect
	drain  dialect.DrainTx
	traits rewrite.Traits
	// What an engine locks whose drains have to: a row's key, all keys that
	// have no row, and how it counts those that have.
	lock, count string
}

// watchingDialect knows of transactions from the parent.
type watchingDialect struct{ fakeDialect }

func (watchingDialect) ConnInTransaction(c driver.Conn) bool {
	return c.(interface{ ConnInTransaction() bool }).ConnInTransaction()
}

func (fakeDialect) SavepointGone(err error) bool { return errors.Is(err, errNoSavepoint) }

func (fakeDialect) SchemaChanged(err error) bool { return errors.Is(err, errChanged) }

func (fakeDialect) Shares(context.Context, dialect.Session) (bool, error) { return true, nil }

func (fakeDialect) NotApplied(err error) bool {
	return errors.Is(err, errRefused) || errors.Is(err, errConflict) || errors.Is(err, errTimeout)
}

func (fakeDialect) Conflict(err error) bool     { return errors.Is(err, errConflict) }
func (fakeDialect) WaitedInVain(err error) bool { return errors.Is(err, errTimeout) }

// What a server answers.
var (
	errRefused  = errors.New("refused")
	errConflict = errors.New("deadlock")
	errTimeout  = errors.New("lock wait timeout")
)

func (fakeDialect) SlotFull(error) bool { return false }

var errChanged = errors.New("no such column")

func (d fakeDialect) Lock(_ *rewrite.Table, s rewrite.Scope) []string {
	if d.lock == "" {
		return nil
	}
	return []string{d.lock + " " + s.Where, "SELECT more"}
}

func (d fakeDialect) Count(*rewrite.Table, rewrite.Scope) string { return d.count }

func (d fakeDialect) Drain() dialect.DrainTx                                   { return d.drain }
func (d fakeDialect) Traits() rewrite.Traits                                   { return d.traits }
func (fakeDialect) Namespace(context.Context, dialect.Session) (string, error) { return "main", nil }
func (fakeDialect) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	if err := s.Exec(ctx, "PROBE"); err != nil {
		return false, err
	}
	return s.(*session).conn.parent.(interface{ ConnInTransaction() bool }).ConnInTransaction(), nil
}

func (fakeDialect) Table(_ context.Context, _ dialect.Session, _, name string) (*rewrite.Table, error) {
	id := rewrite.Column{Name: "id", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64}
	slot := rewrite.Column{Name: "slot", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64}
	views := rewrite.Column{Name: "views", Type: "INTEGER", Numeric: rewrite.Integer, Bits: 64, HasDefault: true}
	switch name {
	case "posts":
		return &rewrite.Table{Schema: "main", Name: name, Columns: []rewrite.Column{id, views, {Name: "title", Type: "text"}},
			Uniques: []rewrite.Unique{{Primary: true, Columns: []string{"id"}}}}, nil
	case "posts_slots":
		return &rewrite.Table{Schema: "main", Name: name, Columns: []rewrite.Column{id, slot, views},
			Uniques: []rewrite.Unique{{Primary: true, Columns: []string{"id", "slot"}}}}, nil
	}
	return nil, nil
}

// Views: there are none.
func (fakeDialect) Views(context.Context, dialect.Session, *rewrite.Table) ([]string, error) {
	return nil, nil
}

// The ways an engine may have with transactions.
var (
	nesting = fakeDialect{Dialect: sqlite.New(), drain: sqlite.New().Drain(), traits: sqlite.New().Traits()}
	probing = fakeDialect{Dialect: sqlite.New(), drain: dialect.DrainTx{Begin: []string{"START TRANSACTION"}, Commit: []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"}}, traits: rewrite.Traits{ExprNames: true, ArgsRestart: true, MultiProbe: "DO 0; DO 0", UpsertCounts: true}}
	watching = watchingDialect{fakeDialect{Dialect: sqlite.New(), drain: dialect.DrainTx{Begin: []string{"BEGIN"}, Commit: []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"}}, traits: rewrite.Traits{MultiIsTx: true}}}
	ways = map[string]dialect.Dialect{"nesting": nesting, "probing": probing, "watching": watching}
)

// fakeConnector opens connections to a fakeServer.
type fakeConnector struct {
	server *fakeServer
	make   func(bareConn) driver.Conn
	closed *bool
}

func (c fakeConnector) Connect(context.Context) (driver.Conn, error) {
	s := &fakeSession{server: c.server}
	c.server.mu.Lock()
	c.server.conns = append(c.server.conns, s)
	c.server.mu.Unlock()
	b := bareConn{session: s}
	if c.make != nil {
		return c.make(b), nil
	}
	return &fakeConn{b}, nil
}

func (c fakeConnector) Driver() driver.Driver { return c }

func (c fakeConnector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

// closingConnector is one that can be closed.
type closingConnector struct{ fakeConnector }

func (c closingConnector) Close() error {
	*c.closed = true
	return nil
}

// openFake opens a wrapped database on a fake parent.
func openFake(t testing.TB, d dialect.Dialect, c driver.Connector) *sql.DB {
	t.Helper()
	config, err := Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := OpenDB(c, d, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ran returns the texts run since the last arm.
func (s *fakeServer) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.log {
		if t, ok := strings.CutPrefix(l, "run "); ok {
			out = append(out, t)
		}
	}
	return out
}

func (s *fakeServer) logged(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.log, line)
}

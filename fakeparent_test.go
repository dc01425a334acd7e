package slotsql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"
	"strings"
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
	n, err := c.session.run(context.Background(), q, numbered(args))
	return driver.RowsAffected(n), err
}

func (c *legacyConn) Query(q string, args []driver.Value) (driver.Rows, error) {
	return c.query(context.Background(), q, numbered(args))
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
	n, err := s.conn.session.run(context.Background(), s.text, numbered(args))
	return driver.RowsAffected(n), err
}
func (s *bareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.conn.query(context.Background(), s.text, numbered(args))
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

// numbered gives arguments their ordinals.
func numbered(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// noRows is a result without columns.
type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

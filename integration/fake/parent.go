package fake

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Connector opens connections to a Server.
type Connector struct {
	Server *Server
	Make   func(BareConn) driver.Conn
}

// Connect implements driver.Connector.
func (c Connector) Connect(context.Context) (driver.Conn, error) {
	s := &Session{server: c.Server}
	c.Server.Mu.Lock()
	c.Server.Conns = append(c.Server.Conns, s)
	c.Server.Mu.Unlock()
	b := BareConn{Session: s}
	if c.Make != nil {
		return c.Make(b), nil
	}
	return &Conn{b}, nil
}

// Driver implements driver.Connector.
func (c Connector) Driver() driver.Driver { return c }

// Open implements driver.Driver.
func (c Connector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

// Conn is a parent's connection with the current interfaces.
type Conn struct{ BareConn }

// BareConn has what driver.Conn demands and no more.
type BareConn struct {
	Session  *Session
	Stmt     func(*BareStmt) driver.Stmt
	Rows     func(*BareRows) driver.Rows
	SkipExec bool // as go-sql-driver/mysql with arguments
}

// Prepare implements driver.Conn.
func (c *BareConn) Prepare(q string) (driver.Stmt, error) {
	c.Session.server.note("prepare " + q)
	s := &BareStmt{conn: c, sql: q, Inputs: strings.Count(q, "?")}
	if c.Stmt != nil {
		return c.Stmt(s), nil
	}
	return &Stmt{BareStmt: s}, nil
}

// Close implements driver.Conn.
func (c *BareConn) Close() error {
	c.Session.server.Mu.Lock()
	defer c.Session.server.Mu.Unlock()
	c.Session.closed, c.Session.Open, c.Session.Pending = true, false, nil
	return nil
}

// Begin implements driver.Conn.
func (c *BareConn) Begin() (driver.Tx, error) {
	if _, err := c.Session.run(context.Background(), "BEGIN", nil); err != nil {
		return nil, err
	}
	return &tx{c.Session}, nil
}

// ConnInTransaction reports whether a transaction is open.
func (c *BareConn) ConnInTransaction() bool { return c.Session.Open }

func (c *BareConn) query(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if _, err := c.Session.run(ctx, q, args); err != nil {
		return nil, err
	}
	r := &BareRows{session: c.Session, Left: 1, observed: strings.Contains(q, "slotsql_slots")}
	if c.Rows != nil {
		return c.Rows(r), nil
	}
	return r, nil
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *Conn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Session.dead {
		return nil, driver.ErrBadConn
	}
	return c.Prepare(q)
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.Session.server.note(fmt.Sprintf("begin %d %v", o.Isolation, o.ReadOnly))
	if _, err := c.Session.run(ctx, "BEGIN", nil); err != nil {
		return nil, err
	}
	return &tx{c.Session}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *Conn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if c.SkipExec && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	n, err := c.Session.run(ctx, q, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(n), nil
}

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if c.SkipExec && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	return c.query(ctx, q, args)
}

// IsValid implements driver.Validator.
func (c *Conn) IsValid() bool { return !c.Session.dead }

// Ping implements driver.Pinger.
func (c *Conn) Ping(context.Context) error {
	c.Session.server.note("ping")
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(context.Context) error {
	if c.Session.dead {
		return driver.ErrBadConn
	}
	return nil
}

// Odd is an argument that only a NamedValueChecker lets through.
type Odd struct{ N int64 }

// CheckNamedValue implements driver.NamedValueChecker.
func (c *Conn) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(Odd); ok {
		v.Value = o.N
		return nil
	}
	return driver.ErrSkip
}

// LegacyConn has the interfaces of before contexts.
type LegacyConn struct{ BareConn }

// Exec implements driver.Execer.
func (c *LegacyConn) Exec(q string, args []driver.Value) (driver.Result, error) {
	n, err := c.Session.run(context.Background(), q, numbered(args))
	return driver.RowsAffected(n), err
}

// Query implements driver.Queryer.
func (c *LegacyConn) Query(q string, args []driver.Value) (driver.Rows, error) {
	return c.query(context.Background(), q, numbered(args))
}

type tx struct{ session *Session }

// Commit implements driver.Tx.
func (t *tx) Commit() error {
	_, err := t.session.run(context.Background(), "COMMIT", nil)
	return err
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	_, err := t.session.run(context.Background(), "ROLLBACK", nil)
	return err
}

// BareStmt has what driver.Stmt demands and no more.
type BareStmt struct {
	conn   *BareConn
	sql    string
	Inputs int
	closed bool
}

// Close implements driver.Stmt.
func (s *BareStmt) Close() error {
	s.closed = true
	s.conn.Session.server.note("close " + s.sql)
	return nil
}

// NumInput implements driver.Stmt.
func (s *BareStmt) NumInput() int { return s.Inputs }

// Exec implements driver.Stmt.
func (s *BareStmt) Exec(args []driver.Value) (driver.Result, error) {
	n, err := s.conn.Session.run(context.Background(), s.sql, numbered(args))
	return driver.RowsAffected(n), err
}

// Query implements driver.Stmt.
func (s *BareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.conn.query(context.Background(), s.sql, numbered(args))
}

// Stmt has the interfaces with contexts.
type Stmt struct{ *BareStmt }

// ExecContext implements driver.StmtExecContext.
func (s *Stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	n, err := s.conn.Session.run(ctx, s.sql, args)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(n), nil
}

// QueryContext implements driver.StmtQueryContext.
func (s *Stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(ctx, s.sql, args)
}

// CheckingStmt has its own NamedValueChecker, Converting converters.
type CheckingStmt struct{ *Stmt }

// CheckNamedValue implements driver.NamedValueChecker.
func (s CheckingStmt) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(Odd); ok {
		v.Value = o.N * 100
		return nil
	}
	return driver.ErrSkip
}

// Converting is a statement with a driver.ColumnConverter.
type Converting struct{ *Stmt }

// ColumnConverter implements driver.ColumnConverter.
func (s Converting) ColumnConverter(int) driver.ValueConverter { return thousandfold{} }

type thousandfold struct{}

// ConvertValue implements driver.ValueConverter.
func (thousandfold) ConvertValue(v any) (driver.Value, error) {
	n, err := driver.Int32.ConvertValue(v)
	if err != nil {
		return nil, err
	}
	return n.(int64) * 1000, nil
}

// BareRows has what driver.Rows demands and no more.
type BareRows struct {
	session *Session
	Left    int
	Err     error // instead of the row
	closed  bool
	// observed: they have one more column, which says that there are no slots.
	observed bool
}

// Columns implements driver.Rows.
func (r *BareRows) Columns() []string {
	if r.observed {
		return []string{"views", "slotsql_slots"}
	}
	return []string{"views"}
}

// Close implements driver.Rows.
func (r *BareRows) Close() error { r.closed = true; return nil }

// Next implements driver.Rows.
func (r *BareRows) Next(dest []driver.Value) error {
	if r.Err != nil {
		return r.Err
	}
	if r.Left == 0 {
		return io.EOF
	}
	r.Left--
	dest[0] = int64(7)
	if r.observed {
		dest[1] = false
	}
	return nil
}

// Typed has every optional interface of rows.
type Typed struct {
	*BareRows
	Sets int
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (r *Typed) HasNextResultSet() bool { return r.Sets > 0 }

// NextResultSet implements driver.RowsNextResultSet.
func (r *Typed) NextResultSet() error {
	if r.Sets == 0 {
		return io.EOF
	}
	r.Sets--
	r.Left = 1
	return nil
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (r *Typed) ColumnTypeDatabaseTypeName(int) string { return "WONDER" }

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (r *Typed) ColumnTypeLength(int) (int64, bool) { return 11, true }

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (r *Typed) ColumnTypeNullable(int) (bool, bool) { return true, true }

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (r *Typed) ColumnTypePrecisionScale(int) (p, s int64, ok bool) { return 12, 3, true }

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (r *Typed) ColumnTypeScanType(int) reflect.Type { return reflect.TypeFor[Odd]() }

// numbered gives arguments their ordinals.
func numbered(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// NoRows is a result without columns.
type NoRows struct{}

// Columns implements driver.Rows.
func (NoRows) Columns() []string { return nil }

// Close implements driver.Rows.
func (NoRows) Close() error { return nil }

// Next implements driver.Rows.
func (NoRows) Next([]driver.Value) error { return io.EOF }

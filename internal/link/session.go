package link

import (
	"context"
	"database/sql/driver"
	"io"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.Session = (*Session)(nil)

// Session lets a dialect run slotsql's own statements on a connection.
type Session Conn

// Session returns the connection as dialects see it.
func (c *Conn) Session() *Session { return (*Session)(c) }

// ParentConn returns the parent's connection, for a dialect that knows its type.
func (s *Session) ParentConn() driver.Conn { return s.Parent }

// Query implements dialect.Session. A query that the engine has rolled back runs again if it
// stands alone: in a transaction, even one of slotsql's own, the statements before it and their
// locks are gone as well.
func (s *Session) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	alone := (*Conn)(s).InAutocommit() && !s.Tx.Own()
	for tries := 1; ; tries++ {
		out, err := s.query(ctx, sql, args)
		if !alone || !(*Conn)(s).Retry(ctx, tries, err) {
			return out, err
		}
	}
}

func (s *Session) query(ctx context.Context, sql string, args []any) ([][]any, error) {
	s.Tx.Read()
	if len(args) > 0 && s.Rare.Any(TxOpen) && s.Drain.Begin() { // for a transaction that the preparation may lose
		defer s.Drain.End()
	}
	if d, ok := s.DB.Dialect.(dialect.StatementLimited); ok {
		sql = d.WithoutLimits(sql)
	}
	rows, err := (*Conn)(s).ParentQuery(ctx, sql, NamedValues(args))
	if err != nil {
		return nil, err
	}
	return Collect(rows)
}

// Collect reads all rows and closes them.
func Collect(rows driver.Rows) ([][]any, error) {
	all, err := ReadAll(rows)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	return Anys(all), err
}

// Anys returns rows as those of a dialect.Session.
func Anys(rows [][]driver.Value) [][]any {
	out := make([][]any, len(rows))
	for i, r := range rows {
		out[i] = make([]any, len(r))
		for j, v := range r {
			out[i][j] = v
		}
	}
	return out
}

// Exec implements dialect.Session.
func (s *Session) Exec(ctx context.Context, sql string, args ...any) error {
	s.Tx.Read()
	_, err := (*Conn)(s).ParentExec(ctx, sql, NamedValues(args))
	if err == nil && len(args) == 0 {
		(*Conn)(s).noteOwn(sql)
	}
	return err
}

// ExecAll runs statements one after another.
func (s *Session) ExecAll(ctx context.Context, lists ...[]string) error {
	for _, list := range lists {
		for _, q := range list {
			if err := s.Exec(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// NamedValues returns arguments as a driver takes them.
func NamedValues(args []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// ReadAll reads the rows of one result set. Byte slices are copied: the parent
// may reuse them.
func ReadAll(rows driver.Rows) ([][]driver.Value, error) {
	var out [][]driver.Value
	n := len(rows.Columns())
	for {
		row := make([]driver.Value, n)
		switch err := rows.Next(row); err {
		case nil:
		case io.EOF:
			return out, nil
		default:
			return out, err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok && b != nil {
				row[i] = append([]byte{}, b...)
			}
		}
		out = append(out, row)
	}
}

// Package postgres registers the driver "postgres-slotsql", which wraps
// github.com/jackc/pgx/v5/stdlib:
//
//	import _ "github.com/slotsql/slotsql/postgres"
//
//	db, err := sql.Open("postgres-slotsql", "postgres://user:password@host/dbname")
//
// The DSN is that of pgx. The configuration is found as described at slotsql.FindConfig.
package postgres

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect"
	dialect "github.com/slotsql/slotsql/dialect/postgres"
)

var (
	_ slotdialect.Dialect             = Engine{}
	_ slotdialect.ErrorClassifier     = Engine{}
	_ slotdialect.FoldErrorClassifier = Engine{}
	_ slotdialect.TxWatcher           = Engine{}
	_ slotdialect.SelectiveTxWatcher  = Engine{}
	_ slotdialect.BusyWatcher         = Engine{}
	_ slotdialect.ArgRewriter         = Engine{}
	_ slotdialect.ReadOnlyReader      = Engine{}
	_ slotdialect.ReadOnlyWatcher     = Engine{}
	_ slotdialect.Pipeliner           = Engine{}
)

// DriverName is the name under which the driver is registered.
const DriverName = "postgres-slotsql"

func init() { slotsql.Register(DriverName, stdlib.GetDefaultDriver(), Dialect(), nil) }

// Engine is the PostgreSQL dialect together with what it needs to know of pgx: its
// errors, its transaction status and the arguments that are options.
type Engine struct{ dialect.Over }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with pgx's stdlib as the parent, or with a wrapper of it.
func Dialect() Engine {
	return Engine{dialect.Over{Dialect: dialect.New(), Fault: fault}}
}

func fault(err error) (f dialect.Fault, ok bool) {
	var e *pgconn.PgError
	if ok = errors.As(err, &e); ok {
		f = dialect.Fault{Severity: e.SeverityUnlocalized, Code: e.Code, Message: e.Message, Routine: e.Routine}
	}
	return f, ok
}

// pgxConn finds pgx's connection, behind wrappers that lead to it by Unwrap or Raw.
func pgxConn(c driver.Conn) (*pgx.Conn, bool) {
	for range maxWrappers {
		switch w := c.(type) {
		case interface{ Conn() *pgx.Conn }:
			return w.Conn(), true
		case interface{ Unwrap() driver.Conn }:
			c = w.Unwrap()
		case interface{ Raw() driver.Conn }:
			c = w.Raw()
		default:
			return nil, false
		}
	}
	return nil, false
}

// maxWrappers ends the search where a wrapper leads back to itself.
const maxWrappers = 32

// Watches reports whether pgx's connection can be reached.
func (Engine) Watches(c driver.Conn) bool {
	_, ok := pgxConn(c)
	return ok
}

// ConnInTransaction reads the transaction status that the server sends with every
// response.
func (Engine) ConnInTransaction(c driver.Conn) bool {
	p, ok := pgxConn(c)
	return ok && p.PgConn().TxStatus() != 'I'
}

// ConnState reports whether rows of a query are open, and whether pgx has closed the connection. Where one is lost before the
// answer to a statement of the simple protocol, pgx (5.12) closes it and reports that it is closed, which its stdlib takes
// for an error before anything was sent.
func (Engine) ConnState(c driver.Conn) (busy, closed bool) {
	p, ok := pgxConn(c)
	return ok && p.PgConn().IsBusy(), ok && p.IsClosed()
}

// unsent reports whether an error comes before anything of a statement was sent on a connection that was open. One that is
// closed now was closed since: see ConnState.
func unsent(err error) bool { return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) }

// ConnReadOnly reads what servers since version 14 report about the session's default and
// about recovery. Older servers have to be asked, as does one behind a wrapper that hides
// pgx.
func (Engine) ConnReadOnly(c driver.Conn) bool {
	p, ok := pgxConn(c)
	return !ok || p.PgConn().ParameterStatus("default_transaction_read_only") != "off" ||
		p.PgConn().ParameterStatus("in_hot_standby") != "off"
}

// RewriteArgs separates pgx's leading option arguments, and applies a query rewriter,
// such as pgx.NamedArgs, before the statement is planned.
func (Engine) RewriteArgs(
	ctx context.Context,
	c driver.Conn,
	query string,
	args []driver.NamedValue,
) (string, []driver.NamedValue, []driver.NamedValue, error) {
	n := 0
	for ; n < len(args); n++ {
		switch v := args[n].Value.(type) {
		case int64, int, string, []byte: // nearly always; the search for a method takes longer
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			continue
		case pgx.QueryRewriter:
			return rewriteQuery(ctx, c, v, query, args[:n], args[n+1:])
		}
		break
	}
	return query, args[n:], args[:n], nil
}

func rewriteQuery(
	ctx context.Context,
	c driver.Conn,
	r pgx.QueryRewriter,
	query string,
	options, args []driver.NamedValue,
) (string, []driver.NamedValue, []driver.NamedValue, error) {
	p, ok := pgxConn(c)
	if !ok {
		return "", nil, nil, errors.New("slotsql: a query rewriter needs a pgx connection")
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	query, values, err := r.RewriteQuery(ctx, p, query, values)
	if err != nil {
		return "", nil, nil, err
	}
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return query, out, options, nil
}

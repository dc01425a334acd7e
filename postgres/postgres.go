// Package postgres registers the driver "postgres-slotsql", which wraps
// github.com/jackc/pgx/v5/stdlib:
//
//	import _ "github.com/slotsql/slotsql/postgres"
//
//	db, err := sql.Open("postgres-slotsql", "postgres://user:password@host/dbname")
//
// The DSN is pgx's. The configuration is looked for as slotsql.FindConfig says.
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
	_ slotdialect.ArgRewriter         = Engine{}
	_ slotdialect.ReadOnlyReader      = Engine{}
	_ slotdialect.ReadOnlyWatcher     = Engine{}
)

// DriverName is the name the driver is registered under.
const DriverName = "postgres-slotsql"

func init() { slotsql.Register(DriverName, stdlib.GetDefaultDriver(), Dialect(), nil) }

// Engine is the PostgreSQL dialect with knowledge of pgx: its errors, its
// transaction status and the arguments that are options.
type Engine struct{ *dialect.Dialect }

// Dialect returns the dialect for slotsql.Register, OpenDB and WrapConnector
// with pgx's stdlib as the parent.
func Dialect() Engine { return Engine{dialect.New()} }

// SchemaChanged recognises undefined tables and columns, and prepared
// statements whose result type has changed.
func (Engine) SchemaChanged(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "42P01", "42703", "42P10", "0A000", "42804":
		return true
	}
	return e.Code == "42601" && e.Routine == "transformSubLink" // other columns than the statement expects
}

// SlotFull is always false: the upsert affects no row instead.
func (Engine) SlotFull(error) bool { return false }

// Unmoved recognises the failure that a statement brings about by itself which moves
// slots, that of row security where it is not to hide rows silently, and that of
// rewrite rules for UPDATE.
func (Engine) Unmoved(err error) (reason string, ok bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return "", false
	}
	switch {
	case e.Code == "22P02":
		return dialect.Refusal(e.Message)
	case e.Code == "42501" && e.Routine == "check_enable_rls":
		return dialect.HiddenRows, true
	case e.Code == "0A000" && e.Routine == "RewriteQuery":
		return dialect.NotUpdated, true
	}
	return "", false
}

// NotApplied recognises the server's answers. One that ends the session may
// come after the commit.
func (Engine) NotApplied(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.SeverityUnlocalized == "ERROR"
}

// Conflict recognises a deadlock's victim (40P01). The plain statement that
// changes one row waits for that row only, and so is none: it is the slot row,
// beside the base row, that makes it possible. What a plain statement of many
// rows meets is one that may have come later. A serialization failure (40001)
// is not among them: at the levels that have it the plain statement gets it
// too, and the application is ready for it.
func (Engine) Conflict(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "40P01"
}

// LockTimeout recognises the end of lock_timeout and of statement_timeout.
func (Engine) LockTimeout(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "55P03" || e.Code == "57014")
}

// Retryable recognises deadlocks, serialization failures, and locks that were
// not to be had.
func (Engine) Retryable(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03")
}

// ConnInTransaction reads the status that the server sends with every answer.
func (Engine) ConnInTransaction(c driver.Conn) bool {
	p, ok := c.(interface{ Conn() *pgx.Conn })
	return ok && p.Conn().PgConn().TxStatus() != 'I'
}

// ReadOnly recognises what a READ ONLY transaction and a standby refuse.
func (Engine) ReadOnly(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "25006"
}

// ErrReadOnly is such an error.
func (Engine) ErrReadOnly() error {
	return &pgconn.PgError{
		Severity:            "ERROR",
		SeverityUnlocalized: "ERROR",
		Code:                "25006",
		Message:             "cannot execute UPDATE in a read-only transaction",
	}
}

// ConnReadOnly reads what servers since 14 report of the session's default and of
// recovery. An older one has to be asked.
func (Engine) ConnReadOnly(c driver.Conn) bool {
	p, ok := c.(interface{ Conn() *pgx.Conn })
	return ok && (p.Conn().PgConn().ParameterStatus("default_transaction_read_only") != "off" ||
		p.Conn().PgConn().ParameterStatus("in_hot_standby") != "off")
}

// RewriteArgs separates pgx's leading option arguments and lets a query
// rewriter, such as pgx.NamedArgs, do its work before the text is planned.
func (Engine) RewriteArgs(
	ctx context.Context,
	c driver.Conn,
	query string,
	args []driver.NamedValue,
) (string, []driver.NamedValue, []driver.NamedValue, error) {
	n := 0
	for ; n < len(args); n++ {
		switch v := args[n].Value.(type) {
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
	p, ok := c.(interface{ Conn() *pgx.Conn })
	if !ok {
		return "", nil, nil, errors.New("slotsql: a query rewriter needs a pgx connection")
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	query, values, err := r.RewriteQuery(ctx, p.Conn(), query, values)
	if err != nil {
		return "", nil, nil, err
	}
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return query, out, options, nil
}

package pq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/lib/pq"
	"github.com/ngrok/sqlmw"

	"github.com/slotsql/slotsql"
	slotdialect "github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

// oldError is an error of lib/pq before 1.10.6, which has no method SQLState.
type oldError struct{ server postgres.Fault }

func (e *oldError) Error() string { return "pq: " + e.server.Message }

func old(err error) error {
	if f, ok := fault(err); ok {
		return &oldError{f}
	}
	return err
}

// oldErrors are those of the server in the sessions of a driver.
type oldErrors struct{ sqlmw.NullInterceptor }

func (oldErrors) ConnExecContext(
	ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue,
) (driver.Result, error) {
	res, err := conn.ExecContext(ctx, query, args)
	return res, old(err)
}

func (oldErrors) ConnQueryContext(
	ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue,
) (context.Context, driver.Rows, error) {
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, old(err)
}

func (oldErrors) ConnPrepareContext(
	ctx context.Context, conn driver.ConnPrepareContext, query string,
) (context.Context, driver.Stmt, error) {
	st, err := conn.PrepareContext(ctx, query)
	return ctx, st, old(err)
}

func (oldErrors) StmtExecContext(
	ctx context.Context, st driver.StmtExecContext, _ string, args []driver.NamedValue,
) (driver.Result, error) {
	res, err := st.ExecContext(ctx, args)
	return res, old(err)
}

func (oldErrors) StmtQueryContext(
	ctx context.Context, st driver.StmtQueryContext, _ string, args []driver.NamedValue,
) (context.Context, driver.Rows, error) {
	rows, err := st.QueryContext(ctx, args)
	return ctx, rows, old(err)
}

// Where errors have no method SQLState the user's Fault decides, and without one the error of the first statement says
// what is missing and from which version on lib/pq's have it.
func TestErrorsWithoutSQLState(t *testing.T) {
	parent := sqlmw.Driver(&pq.Driver{}, oldErrors{})
	for name, d := range map[string]slotdialect.Dialect{
		"none":    postgres.New(),
		"another": dialect, // reads *pq.Error, which the parent hides
		"its own": postgres.Over{Dialect: postgres.New(), Fault: func(err error) (f postgres.Fault, ok bool) {
			var e *oldError
			if ok = errors.As(err, &e); ok {
				f = e.server
			}
			return f, ok
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sql.Register("old pq "+name, parent)
			slotsql.Register("postgres old pq "+name, parent, d, nil)
			if name == "its own" {
				suite.Run(t, "old pq "+name, "postgres old pq "+name, func() string { return server.Postgres(t) })
				return
			}
			cfg, err := slotsql.Parse([]byte(suite.Config), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			db, err := slotsql.Open("postgres old pq "+name, server.Postgres(t), slotsql.WithConfig(cfg))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			const want = "give postgres.Over a Fault that reads it (errors of lib/pq have a method SQLState from 1.10.6 on)"
			if err = db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("connecting: %v", err)
			}
		})
	}
}

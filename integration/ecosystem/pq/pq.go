// Package pq registers lib/pq as the parent driver, for the tests here and for those of other packages.
package pq

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"regexp"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/twin"
)

var dialect = postgres.Over{Dialect: postgres.New(), Fault: fault}

func init() {
	sql.Register("pq", usual{})
	slotsql.Register("pq-slotsql", usual{}, dialect, nil)
	twin.Over("postgres", twin.Parent{Plain: "pq", Wrapped: "pq-slotsql", Dialect: dialect, Code: code})
}

func fault(err error) (f postgres.Fault, ok bool) {
	var e *pq.Error
	if ok = errors.As(err, &e); ok {
		f = postgres.Fault{Severity: e.Severity, Code: string(e.Code), Message: e.Message, Routine: e.Routine}
	}
	return f, ok
}

// usual is lib/pq with the DSN of pgx, which tests write.
type usual struct{ pq.Driver }

func (u usual) Open(dsn string) (driver.Conn, error) {
	return u.Driver.Open(mode.ReplaceAllString(dsn, ""))
}

// mode is a parameter of pgx itself. lib/pq would send it to the server.
var mode = regexp.MustCompile(`&default_query_exec_mode=\w+`)

func code(err error) string {
	if f, ok := fault(err); ok {
		return "PostgreSQL " + f.Code
	}
	return ""
}

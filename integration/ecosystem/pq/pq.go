// Package pq registers lib/pq as the parent driver, for the tests here and for those of other packages.
package pq

import (
	"errors"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/twin"
)

func init() {
	slotsql.Register("pq-slotsql", &pq.Driver{}, postgres.Over{Dialect: postgres.New(), Fault: fault}, nil)
	twin.Over("postgres", twin.Parent{Plain: "postgres", Wrapped: "pq-slotsql", Code: code})
}

func fault(err error) (f postgres.Fault, ok bool) {
	var e *pq.Error
	if ok = errors.As(err, &e); ok {
		f = postgres.Fault{Severity: e.Severity, Code: string(e.Code), Message: e.Message, Routine: e.Routine}
	}
	return f, ok
}

func code(err error) string {
	if f, ok := fault(err); ok {
		return "PostgreSQL " + f.Code
	}
	return ""
}

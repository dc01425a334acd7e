// Package pq tests lib/pq as the parent driver.
package pq

import (
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

func init() {
	slotsql.Register("pq-slotsql", &pq.Driver{}, postgres.Over{Dialect: postgres.New(), Fault: fault}, nil)
}

func fault(err error) (f postgres.Fault, ok bool) {
	var e *pq.Error
	if ok = errors.As(err, &e); ok {
		f = postgres.Fault{Severity: e.Severity, Code: string(e.Code), Message: e.Message, Routine: e.Routine}
	}
	return f, ok
}

func TestParent(t *testing.T) {
	suite.Run(t, "postgres", "pq-slotsql", func() string { return server.Postgres(t) })
}

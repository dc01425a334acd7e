// Package pq tests lib/pq as the parent driver.
package pq

import (
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
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

func TestParent(t *testing.T) {
	suite.Run(t, "postgres", "pq-slotsql", func() string { return server.Postgres(t) })
}

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "postgres") }

func TestValues(t *testing.T) {
	want := suite.Types{
		"numeric": "[]uint8", "timestamptz": "time.Time", "date": "time.Time", "boolean": "bool", "bytea": "[]uint8", "text": "string",
		"uuid": "[]uint8", "jsonb": "[]uint8",
	}
	suite.Values(t, suite.Postgres, want, "postgres", server.Postgres(t))
	want["numeric"], want["uuid"] = "string", "string"
	suite.Values(t, suite.Postgres, want, "pgx", server.Postgres(t))
}

package pq

import (
	"testing"

	"github.com/lib/pq"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/sessions"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
)

func TestParent(t *testing.T) {
	slotsql.Register("postgres-pq", &pq.Driver{}, dialect, nil)
	suite.Run(t, "postgres", "postgres-pq", func() string { return server.Postgres(t) })
}

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "postgres") }

func TestSession(t *testing.T) {
	sessions.Run(t, "pq", map[string]string{
		"TestColdChangeThenRead/postgres": "a test of pgx: round trips are counted by its DialFunc",
		"TestColdRowsAsPlain/postgres":    "the same",
		"TestCopyFromOfTheRawConnection":  "a test of pgx: lib/pq has no CopyFrom",
		"TestPgxOptions":                  "a test of pgx: arguments that are its options",
		"TestPointReadsProbe":             "a test of pgx: it looks at the statements that pgx keeps prepared",
	})
}

func TestValues(t *testing.T) {
	want := suite.Types{
		"numeric": "[]uint8", "timestamptz": "time.Time", "date": "time.Time", "boolean": "bool", "bytea": "[]uint8", "text": "string",
		"uuid": "[]uint8", "jsonb": "[]uint8",
	}
	suite.Values(t, suite.Postgres, want, "postgres", server.Postgres(t))
	want["numeric"], want["uuid"] = "string", "string"
	suite.Values(t, suite.Postgres, want, "pgx", server.Postgres(t))
}

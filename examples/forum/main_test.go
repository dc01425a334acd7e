package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
	"github.com/slotsql/slotsql/integration/server"
)

// What visitors were told is in the tables, on each engine, plain and wrapped.
func TestRun(t *testing.T) {
	for engine, dsn := range map[string]string{"sqlite": "", "mysql": server.MariaDB(t), "postgres": server.Postgres(t)} {
		t.Run(engine, func(t *testing.T) {
			var out bytes.Buffer
			o := options{engine: engine, dsn: dsn, clients: 8, hot: 1, companions: true, duration: 200 * time.Millisecond}
			if err := run(t.Context(), o, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if s := out.String(); !strings.Contains(s, "plain ") || !strings.Contains(s, "slotsql ") {
				t.Error(s)
			}
		})
	}
}

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "plain ") }

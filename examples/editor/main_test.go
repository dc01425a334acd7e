package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop/shoptest"
	"github.com/slotsql/slotsql/integration/server"
)

// No edit is lost, on each engine.
func TestRun(t *testing.T) {
	for engine, dsn := range map[string]string{"sqlite": "", "mysql": server.MariaDB(t), "postgres": server.Postgres(t)} {
		t.Run(engine, func(t *testing.T) {
			clients := 32
			if engine == "sqlite" {
				clients = 4 // one writes at a time
			}
			var out bytes.Buffer
			if err := example.Run(t.Context(), engine, dsn, clients, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if s := out.String(); !strings.Contains(s, "200 words by 200 edits") {
				t.Error(s)
			}
		})
	}
}

// TestReadme runs the commands of the page, servers being the test's own.
func TestReadme(t *testing.T) { shoptest.Commands(t, "README.md", "") }

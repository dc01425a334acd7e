// Package shoptest holds the tests of the shop that all examples have in common.
package shoptest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop"
	"github.com/slotsql/slotsql/integration/server"
)

var update = flag.Bool("update", false, "rewrite statements.txt")

// What the shop prints with every ORM, on every engine, below the drivers' names.
const visited = `
Lamps: 80 views, 8 likes                Lamps: 80 views, 8 likes
Who we are: 8 views, 0 likes            Who we are: 8 views, 0 likes
Desk lamps: 5 orders, 0 left, 3 late    Desk lamps: 5 orders, 0 left, 3 late
Tickets: [1 2 3 4 5 6 7 8]              Tickets: [1 2 3 4 5 6 7 8]
`

var fresh = map[string]func(testing.TB) string{
	"mysql": server.MariaDB, "postgres": server.Postgres,
	"sqlite": func(t testing.TB) string { return server.SQLite(t) + "&_pragma=foreign_keys(1)" }, // ent asks for it
}

// The environment in which the test's own binary is the program.
const envDSN = "SLOTSQL_TEST_SHOP_DSN"

// Main is the TestMain of an example.
func Main(m *testing.M, open shop.Opener) {
	dsn := os.Getenv(envDSN)
	if dsn == "" {
		os.Exit(m.Run())
	}
	if err := shop.Run(context.Background(), open, "postgres", dsn, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Run runs the shop on every engine, plain and wrapped: the output is the same. And it holds
// statements.txt, the commands of README.md and the length of the example.
func Run(t *testing.T, open shop.Opener) {
	for engine := range shop.Drivers {
		t.Run(engine, func(t *testing.T) {
			var out strings.Builder
			if err := shop.Run(t.Context(), open, engine, fresh[engine](t), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), visited) {
				t.Error(&out)
			}
		})
	}
	t.Run("statements", func(t *testing.T) { statements(t) })
	t.Run("readme", func(t *testing.T) { Commands(t, "README.md", visited) })
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	length(t, filepath.Base(dir)+".go")
	if err := shop.Run(t.Context(), open, "oracle", "", t.Output()); err == nil {
		t.Error("no error for an engine that is none")
	}
	if err := shop.Run(t.Context(), open, "mysql", "", t.Output()); err == nil || !strings.Contains(err.Error(), "needs a -dsn") {
		t.Error(err)
	}
}

// statements holds statements.txt, which docs/orms.md is about: the kinds of the example's
// statements on PostgreSQL. How many of them were alone, grouped or in slots differs from run to run.
func statements(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envDSN+"="+server.Postgres(t))
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	_, kinds, _ := strings.Cut(string(out), "\n\n")
	var got strings.Builder
	for line := range strings.Lines(kinds) {
		if !strings.Contains(line, " times: ") {
			got.WriteString(line)
		}
	}
	const file = "statements.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("not as %s (-update rewrites it):\n%s", file, &got)
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// The functions and views from the command: printed as the engine's client reads them, created, listed and dropped.
func TestStored(t *testing.T) {
	for _, e := range []struct {
		driver, parent string
		dsn            func(testing.TB) string
		ddl            string
	}{{"mysql", "mysql", server.MariaDB, "DELIMITER $$\n"}, {"postgres", "pgx", server.Postgres, "\nEND $slotsql$;\n"}} {
		t.Run(e.driver, func(t *testing.T) {
			dsn := e.dsn(t)
			withSchema(t, e.parent, dsn)
			run := func(args ...string) string {
				t.Helper()
				out, errs, code := command(t, "", append(args, "--driver", e.driver, "--dsn", dsn, "--config", config)...)
				if code != 0 {
					t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
				}
				return out
			}
			has := func(out string, parts ...string) {
				t.Helper()
				for _, part := range parts {
					if !strings.Contains(out, part) {
						t.Errorf("no %q in\n%s", part, out)
					}
				}
			}
			has(run("ddl", "--functions", "--views"), "FUNCTION", "posts_count", "posts_totals", "-- Without ratio: ", e.ddl)
			if out := run("ddl", "--triggers"); out != "" {
				t.Errorf("triggers: %s", out)
			}
			has(run("migrate", "--functions", "--views"), "created posts_slots\n", "created posts_count\n", "created posts_totals\n")
			has(run("migrate", "--functions", "--views"), "all slot tables exist\n")
			has(run("check"), "  function posts_count\n", "  view posts_totals\n", "no problems\n")
			has(run("migrate", "--down", "--functions"), "dropped posts_count\n")
			has(run("migrate", "--down"), "dropped posts_totals\n", "dropped posts_slots\n")
		})
	}
	_, errs, code := command(t, "", "ddl", "--functions", "--driver", "sqlite", "--schema", "testdata/schema.sql", "--config", config)
	if code == 0 || !strings.Contains(errs, "sqlite has no functions that could count in slots") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Package upkeep holds the tests of what keeps an installation right, on every
// engine: slot tables without foreign keys, the audit, and the look at who is
// contended.
package upkeep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// each runs f once per engine.
func each(t *testing.T, f func(t *testing.T, dialect string)) {
	for _, d := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// patience ends a test that waits for itself.
var patience = map[string]string{"mysql": "innodb_lock_wait_timeout=20", "postgres": "lock_timeout=20s", "sqlite": "_pragma=busy_timeout(20000)"}

// connector opens the wrapped side of a pair once more.
func connector(t testing.TB, p *twin.Pair) driver.Connector {
	t.Helper()
	config, err := slotsql.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	name := map[string]string{"mysql": "mysql-slotsql", "postgres": "postgres-slotsql", "sqlite": "sqlite3-slotsql"}[p.Dialect]
	c, err := slotsql.OpenConnector(name, p.WrappedDSN, slotsql.WithConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func execAll(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, texts ...string) {
	t.Helper()
	for _, q := range texts {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// affected runs a text and returns its rows affected.
func affected(t testing.TB, db *sql.DB, q string) int64 {
	t.Helper()
	res, err := db.ExecContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rows returns a query's rows as text.
func rows(t testing.TB, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, q string) string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer r.Close()
	cols, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r.Next() {
		row, ptr := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range row {
			ptr[i] = &row[i]
		}
		if err := r.Scan(ptr...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range row {
			if !v.Valid {
				v.String = "NULL"
			}
			line = append(line, v.String)
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func number(n any) string { return fmt.Sprint(n) }

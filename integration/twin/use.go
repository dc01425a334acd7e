package twin

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// Dialects are the engines that every behaviour is tested on.
var Dialects = []string{"sqlite", "mysql", "postgres"}

// Placeholders writes a statement's question marks as the engine's placeholders.
func Placeholders(dialect, query string) string {
	for n := 1; dialect == "postgres" && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// Plain is the name of each dialect's plain driver.
var Plain = map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}

// Wrapped is the name of each dialect's wrapped driver.
var Wrapped = map[string]string{"mysql": "mysql-slotsql", "postgres": "postgres-slotsql", "sqlite": "sqlite3-slotsql"}

// Each runs f once per engine, at the same time.
func Each(t *testing.T, f func(t *testing.T, dialect string)) { each(t, Dialects, f) }

// Servers runs f once per database server, where transactions hold a row while others run;
// on SQLite one connection writes at a time.
func Servers(t *testing.T, f func(t *testing.T, dialect string)) {
	each(t, []string{"mysql", "postgres"}, f)
}

func each(t *testing.T, dialects []string, f func(t *testing.T, dialect string)) {
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// Connector opens the wrapped side of a pair once more, as another process with
// the same configuration.
func Connector(t testing.TB, p *Pair, opts ...slotsql.Option) *slotsql.Connector {
	t.Helper()
	config, err := slotsql.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	return ConnectorWith(t, p, config, opts...)
}

// ConnectorWith is Connector with a configuration of its own.
func ConnectorWith(t testing.TB, p *Pair, config *slotsql.Config, opts ...slotsql.Option) *slotsql.Connector {
	t.Helper()
	c, err := slotsql.OpenConnector(Wrapped[p.Dialect], p.WrappedDSN, append(opts, slotsql.WithConfig(config))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Explain returns how a connector would run a statement. It closes the connector.
func Explain(t testing.TB, c *slotsql.Connector, query string) (*slotsql.Explanation, error) {
	t.Helper()
	defer c.Close()
	x, err := slotsql.NewExplainer(t.Context(), c)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Explain(query)
}

// Conn returns a connection of its own, which is closed with the test.
func Conn(t testing.TB, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Snapshot begins a transaction that has read of the table, and so has its snapshot
// at the levels that have one. It ends with the test, if not before.
func Snapshot(t testing.TB, db *sql.DB, level sql.IsolationLevel, table string) *sql.Tx {
	t.Helper()
	// Not the test's context, whose end rolls back before the clean-up does.
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return tx
}

// Execer is a database, a connection of one or a transaction.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecAll runs statements, and fails the test at the first error.
func ExecAll(t testing.TB, db Execer, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Querier is a database, a connection of one or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows returns a query's rows as text: a line per row, values apart by a blank.
func Rows(t testing.TB, db Querier, q string, args ...any) string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r.Next() {
		row, ptr := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			ptr[i] = &row[i]
		}
		if err := r.Scan(ptr...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range row {
			switch v := v.(type) {
			case nil:
				line = append(line, "NULL")
			case []byte:
				line = append(line, string(v))
			case time.Time:
				line = append(line, v.UTC().Format(time.RFC3339Nano))
			default:
				line = append(line, fmt.Sprint(v))
			}
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return strings.Join(out, "\n")
}

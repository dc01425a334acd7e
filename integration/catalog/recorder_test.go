package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// recorder is a parent connector that notes what its connections are asked, and may
// hold back what reads the columns of tables.
type recorder struct {
	driver.Connector

	mu      sync.Mutex
	queries []string
	kept    []string      // executions of prepared statements
	quick   time.Duration // what the quickest of the queries took that are not the application's; 0: there was none
	hold    chan struct{} // nil: nothing is held
}

// parent returns a recorder in front of the wrapped side's database.
func parent(t *testing.T, p *twin.Pair) *recorder {
	t.Helper()
	db, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[p.Dialect], p.WrappedDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if d, ok := db.Driver().(driver.DriverContext); ok {
		c, err := d.OpenConnector(p.WrappedDSN)
		if err != nil {
			t.Fatal(err)
		}
		return &recorder{Connector: c}
	}
	return &recorder{Connector: opener{db.Driver(), p.WrappedDSN}}
}

type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }
func (o opener) Driver() driver.Driver                        { return o.driver }

func (r *recorder) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return recorded{c, r}, nil // without pgx's own methods, by which statements pass it
}

// note notes a query, and waits while it is held.
func (r *recorder) note(ctx context.Context, query string) error {
	r.mu.Lock()
	r.queries = append(r.queries, query)
	hold := r.hold
	r.mu.Unlock()
	if hold == nil || !readsColumns(query) {
		return nil
	}
	select {
	case <-hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *recorder) timed(query string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(query, "/* app */") && (r.quick == 0 || took < r.quick) {
		r.quick = took
	}
}

// readsColumns recognises the one query of a reading that is for the columns.
func readsColumns(q string) bool {
	return strings.Contains(q, "NUMERIC_PRECISION") || strings.Contains(q, "pg_catalog.format_type") ||
		strings.Contains(q, "pragma_table_xinfo")
}

// asked returns how many queries there were since the last call, and how many of
// them read columns.
func (r *recorder) asked() (all, readings int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queries {
		if readsColumns(q) {
			readings++
		}
	}
	all, r.queries = len(r.queries), nil
	return all, readings
}

func (r *recorder) holdColumns() (release func()) {
	hold := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = hold
	return func() {
		r.mu.Lock()
		r.hold = nil
		r.mu.Unlock()
		close(hold)
	}
}

// recorded is a connection of the recorder's.
type recorded struct {
	driver.Conn
	r *recorder
}

func (c recorded) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.r.note(ctx, q); err != nil {
		return nil, err
	}
	began := time.Now()
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
	c.r.timed(q, time.Since(began))
	return rows, err
}

func (c recorded) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.r.note(ctx, q); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}

func (c recorded) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	if err := c.r.note(ctx, q); err != nil {
		return nil, err
	}
	st, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
	if err != nil {
		return nil, err
	}
	return recordedStmt{st, c, q}, nil
}

// recordedStmt is a prepared statement of a recorded connection.
type recordedStmt struct {
	driver.Stmt
	c     recorded
	query string
}

func (s recordedStmt) note() {
	s.c.r.mu.Lock()
	defer s.c.r.mu.Unlock()
	s.c.r.kept = append(s.c.r.kept, s.query)
}

func (s recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.note()
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

func (s recordedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.note()
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s recordedStmt) CheckNamedValue(v *driver.NamedValue) error { return s.c.CheckNamedValue(v) }

func (c recorded) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c recorded) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

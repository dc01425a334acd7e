package session

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// The application's limit on its statements is for its own: what slotsql asks of the catalog takes
// as long as it takes, on a connection of the application, outside transactions and in one. Here it
// waits for a lock. The limit stays in force.
func TestStatementTimeoutIsTheApplications(t *testing.T) {
	t.Parallel()
	p := newPair(t, "postgres", "")
	p.WrappedDSN += "&statement_timeout=100"
	db := sql.OpenDB(twin.Connector(t, p))
	t.Cleanup(func() { _ = db.Close() })
	if err := whileCatalogIsLocked(t, p.Under, func() error { return db.PingContext(t.Context()) }); err != nil {
		t.Fatalf("connecting: %v", err)
	}
	on, jit := twin.Conn(t, db), twin.Rows(t, p.Under, "SHOW jit")
	limited := func(when string) {
		t.Helper()
		if got := twin.Rows(t, on, "SELECT current_setting('statement_timeout'), current_setting('jit')"); got != "100ms "+jit {
			t.Errorf("%s: the session has %s", when, got)
		}
		if _, err := on.ExecContext(t.Context(), "SELECT pg_sleep(10)"); twin.Class(err) != "PostgreSQL 57014" {
			t.Errorf("%s: %v", when, err)
		}
	}
	limited("connected")
	// A session with a temporary table reads the catalog by itself.
	twin.ExecAll(t, on, "CREATE TEMPORARY TABLE mine (id INT)", "SET statement_timeout = 200", "BEGIN")
	err := whileCatalogIsLocked(t, p.Under, func() error {
		_, err := on.ExecContext(t.Context(), "UPDATE posts SET views = 1 WHERE id = 1")
		return err
	})
	if err != nil {
		t.Fatalf("in a transaction: %v", err)
	}
	if got := twin.Rows(t, on, "SELECT current_setting('statement_timeout'), current_setting('jit')"); got != "200ms "+jit {
		t.Errorf("in a transaction: the session has %s", got)
	}
	twin.ExecAll(t, on, "COMMIT", "SET statement_timeout = 100")
	limited("after a transaction")

	c := twin.Connector(t, p)
	defer c.Close()
	if err := whileCatalogIsLocked(t, p.Under, func() error {
		_, err := slotsql.Check(t.Context(), c)
		return err
	}); err != nil {
		t.Errorf("check: %v", err)
	}
}

// whileCatalogIsLocked runs f, and has it wait for a table of the catalog for longer than the
// sessions' statement_timeout.
func whileCatalogIsLocked(t *testing.T, db *sql.DB, f func() error) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	twin.ExecAll(t, tx, "LOCK TABLE pg_catalog.pg_trigger IN ACCESS EXCLUSIVE MODE")
	done := make(chan error, 1)
	go func() { done <- f() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for waits := false; !waits; {
		select {
		case err := <-done:
			return err
		default:
		}
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"+
			" AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '300ms')").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	return <-done
}

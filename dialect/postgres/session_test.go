package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// session is one connection to a test's own database.
type session struct {
	t testing.TB
	dialect.PlainSession
	pid string
}

// lowScale is the lowest scale that a numeric of the server takes of those that
// tests use: below 0 from PostgreSQL 15 on.
func lowScale(t testing.TB) int {
	t.Helper()
	if major, err := strconv.Atoi(database(t)().value("SELECT current_setting('server_version_num')::int / 10000")); err != nil {
		t.Fatal(err)
	} else if major < 15 {
		return 0
	}
	return -2
}

// database opens a new database and returns a way to open sessions on it.
func database(t testing.TB, setup ...string) func() *session {
	t.Helper()
	db, err := sql.Open("pgx", server.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	open := func() *session {
		t.Helper()
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &session{t: t, PlainSession: dialect.PlainSession{Conn: c}}
		s.pid = s.value("SELECT pg_backend_pid()")
		return s
	}
	s := open()
	for _, query := range setup {
		s.exec(query)
	}
	return open
}

// try runs a statement and returns the rows affected.
func (s *session) try(query string, args ...any) (int64, error) {
	res, err := s.Conn.ExecContext(context.Background(), query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s *session) exec(query string, args ...any) int64 {
	s.t.Helper()
	n, err := s.try(query, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *session) run(statements ...string) {
	s.t.Helper()
	for _, query := range statements {
		s.exec(query)
	}
}

func (s *session) value(query string) string {
	s.t.Helper()
	rows, err := s.Query(context.Background(), query)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		s.t.Fatalf("%s: %v", query, rows)
	}
	if rows[0][0] == nil {
		return "NULL"
	}
	return fmt.Sprint(rows[0][0])
}

func (s *session) wants(query, want string) {
	s.t.Helper()
	if got := s.value(query); got != want {
		s.t.Errorf("%s\n got %s\nwant %s", query, got, want)
	}
}

// blocks starts a statement that must wait, and returns what waits for its
// end. The server says when it waits.
func (s *session) blocks(watch *session, query string) func() (int64, error) {
	s.t.Helper()
	type result struct {
		n   int64
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := s.try(query)
		done <- result{n, err}
	}()
	deadline := time.Now().Add(time.Minute)
	for watch.value("SELECT cardinality(pg_blocking_pids("+s.pid+"))") == "0" {
		select {
		case r := <-done:
			s.t.Fatalf("did not wait: %s: %d rows, %v", query, r.n, r.err)
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("neither waits nor ends: %s", query)
		}
		time.Sleep(2 * time.Millisecond) // polls the server's view, not a guess at timing
	}
	return func() (int64, error) {
		r := <-done
		return r.n, r.err
	}
}

func state(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return fmt.Sprint(err)
}

// counter reads a table's facts and configures it.
func (s *session) counter(table string, key []string, slots int, counters ...string) *schema.Table {
	s.t.Helper()
	t, err := New().Table(context.Background(), s, "", table)
	if err != nil || t == nil {
		s.t.Fatalf("table %s: %v, %v", table, t, err)
	}
	t.Counter = &schema.Counter{
		Key: key, Counters: counters, Slots: slots,
		SlotTable: schema.SlotTable{Schema: t.Schema, Name: table + "_slots", Column: "slot"}, Options: schema.Options{OnDrain: "run"},
	}
	return t
}

// migrate creates the slot table in one transaction.
func (s *session) migrate(t *schema.Table) {
	s.t.Helper()
	s.exec("BEGIN")
	s.run(New().CreateSlots(t)...)
	s.exec("COMMIT")
}

var simple = []any{pgx.QueryExecModeSimpleProtocol}

// simpleSession sends everything by the simple protocol.
type simpleSession struct{ *session }

func (s simpleSession) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	return s.session.Query(ctx, query, append(slices.Clone(simple), args...)...)
}

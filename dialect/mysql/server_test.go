package mysql

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// session is one connection; it is a dialect.Session.
type session struct {
	t *testing.T
	dialect.PlainSession
}

// run executes statements; SELECTs are read to their end.
func (s session) run(statements ...string) {
	s.t.Helper()
	for _, q := range statements {
		var err error
		if strings.HasPrefix(q, "SELECT") {
			_, err = s.Query(s.t.Context(), q)
		} else {
			err = s.Exec(s.t.Context(), q)
		}
		if err != nil {
			s.t.Fatalf("%s\n%v", q, err)
		}
	}
}

// one returns the first value of the first row as text.
func (s session) one(q string, args ...any) string {
	s.t.Helper()
	rows, err := s.Query(s.t.Context(), q, args...)
	if err != nil {
		s.t.Fatalf("%s\n%v", q, err)
	}
	if len(rows) == 0 {
		return "no row"
	}
	if rows[0][0] == nil {
		return "NULL"
	}
	return dialect.String(rows[0][0])
}

func (s session) want(want, q string, args ...any) {
	s.t.Helper()
	if got := s.one(q, args...); got != want {
		s.t.Errorf("%s\n got %s\nwant %s", q, got, want)
	}
}

// affected executes one statement and returns the affected rows, or the
// server's error number negated.
func (s session) affected(q string, args ...any) int64 {
	s.t.Helper()
	r, err := s.Conn.ExecContext(s.t.Context(), q, args...)
	if err != nil {
		var e *driver.MySQLError
		if errors.As(err, &e) {
			return -int64(e.Number)
		}
		s.t.Fatalf("%s\n%v", q, err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// sessions opens n connections to a fresh database.
func sessions(t *testing.T, n int) []session {
	t.Helper()
	db, err := sql.Open("mysql", server.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	out := make([]session, n)
	for i := range out {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out[i] = session{t, dialect.PlainSession{Conn: c}}
		out[i].run("SET SESSION innodb_lock_wait_timeout = 60") // ends a test that waits for itself
	}
	return out
}

// blocked runs q on s in the background, waits until the server reports it
// waiting for a lock, and returns a function that waits for its end.
func blocked(t *testing.T, watcher, s session, q string) (finish func() error) {
	t.Helper()
	id := s.one("SELECT CONNECTION_ID()")
	done := make(chan error, 1)
	go func() {
		var err error
		if strings.HasPrefix(q, "SELECT") {
			_, err = s.Query(context.Background(), q)
		} else {
			err = s.Exec(context.Background(), q)
		}
		done <- err
	}()
	deadline := time.Now().Add(time.Minute)
	for {
		select {
		case err := <-done:
			t.Fatalf("not blocked (%v): %s", err, q)
		default:
		}
		if watcher.waiting(id) {
			return func() error { return <-done }
		}
		if time.Now().After(deadline) {
			t.Fatalf("neither blocked nor done: %s", q)
		}
		time.Sleep(5 * time.Millisecond) // polls the server's view, not a guess at timing
	}
}

// waiting reports whether a connection waits for a row lock.
// information_schema.INNODB_TRX would be cached for a while.
func (s session) waiting(id string) bool {
	s.t.Helper()
	if server.MySQLVersion(s.t).MySQL { // whose status leaves out those that have not written yet
		return s.one("SELECT COUNT(*) FROM performance_schema.data_lock_waits AS w JOIN performance_schema.threads AS t "+
			"ON t.THREAD_ID = w.REQUESTING_THREAD_ID WHERE t.PROCESSLIST_ID = "+id) != "0"
	}
	rows, err := s.Query(s.t.Context(), "SHOW ENGINE INNODB STATUS")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, trx := range strings.Split(dialect.String(rows[0][2]), "---TRANSACTION")[1:] {
		if strings.Contains(trx, "LOCK WAIT") && strings.Contains(trx, "thread id "+id+",") {
			return true
		}
	}
	return false
}

// served is the dialect of the tests' server.
func served(t *testing.T) *Dialect {
	t.Helper()
	d := New()
	d.MySQL = server.MySQLVersion(t).MySQL
	return d
}

// narrow takes from a type the width of display that MariaDB shows, and MySQL does not.
func narrow(t *testing.T, columnType string) string {
	t.Helper()
	if server.MySQLVersion(t).MySQL && !strings.Contains(columnType, "zerofill") && strings.Contains(columnType, "int(") {
		return regexp.MustCompile(`\([0-9]+\)`).ReplaceAllString(columnType, "")
	}
	return columnType
}

// load introspects a table and configures it as a counter table.
func load(t *testing.T, s session, name string, key, counters []string, slots int) *schema.Table {
	t.Helper()
	d := served(t)
	tab, err := d.Table(t.Context(), s, "", name)
	if err != nil {
		t.Fatal(err)
	}
	if tab == nil {
		t.Fatalf("no table %s", name)
	}
	tab.Counter = &schema.Counter{
		Key:       key,
		Counters:  counters,
		Slots:     slots,
		SlotTable: schema.SlotTable{Schema: tab.Schema, Name: name + "_slots", Column: "slot"},
	}
	s.run(d.CreateSlots(tab)...)
	s.run(d.CreateSlots(tab)...)
	return tab
}

func increment(t *schema.Table, where, slot, column, delta string, clustered bool) string {
	return New().Increment(t, rewrite.IncrementSQL{
		Ref: baseTable(t) + " AS p", Qualifier: "p", Where: where, Slot: slot,
		Deltas: []rewrite.Delta{{Column: column, SQL: delta}}, Clustered: clustered,
	})
}

func total(s session, t *schema.Table, column, where string) string {
	s.t.Helper()
	return s.one("SELECT " + New().Total(t, "p", column, false) + " FROM " + baseTable(t) + " AS p WHERE " + where)
}

func keyed(t *schema.Table, where string) rewrite.Scope {
	return rewrite.Scope{Ref: baseTable(t) + " AS p", Qualifier: "p", Where: where}
}

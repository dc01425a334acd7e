package dialecttest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// session is one connection to a test's database, and the dialect for it.
type session struct {
	*testing.T
	dialect.PlainSession
	dialect.Dialect
}

// sessions opens some to a new database that has the table posts, with two rows.
func (o Options) sessions(t *testing.T, n int) []*session {
	t.Helper()
	db := o.Open(t)
	out := make([]*session, n)
	for i := range out {
		out[i] = o.session(t, db)
	}
	out[0].run(createPosts, "INSERT INTO posts (id, grp, views, likes) VALUES (1, 7, 10, 100), (2, 7, 20, 200)")
	return out
}

// session opens one, as slotsql would.
func (o Options) session(t *testing.T, db *sql.DB) *session {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := &session{T: t, PlainSession: dialect.PlainSession{Conn: c}, Dialect: o.Dialect}
	if d, ok := s.Dialect.(dialect.ServerAware); ok {
		if s.Dialect, err = d.ForServer(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	namespace, err := s.Namespace(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := s.Dialect.(dialect.NamespaceAware); ok {
		s.Dialect = d.InNamespace(namespace.Names)
	}
	return s
}

func (s *session) run(statements ...string) {
	s.Helper()
	for _, query := range statements {
		if err := s.try(query); err != nil {
			s.Fatalf("%v\n%s", err, query)
		}
	}
}

func (s *session) try(query string) error { return s.Exec(s.Context(), query) }

// affected returns the rows affected that a statement reports.
func (s *session) affected(query string) int64 {
	s.Helper()
	r, err := s.Conn.ExecContext(s.Context(), query)
	if err != nil {
		s.Fatalf("%v\n%s", err, query)
	}
	n, err := r.RowsAffected()
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *session) query(query string, args ...any) [][]any {
	s.Helper()
	rows, err := s.Query(s.Context(), query, args...)
	if err != nil {
		s.Fatalf("%v\n%s", err, query)
	}
	return rows
}

// want holds that a query has one row of one value, as text.
func (s *session) want(want, query string) {
	s.Helper()
	rows := s.query(query)
	if len(rows) != 1 || len(rows[0]) != 1 || text(rows[0][0]) != want {
		s.Errorf("%s\n got %s\nwant %s", query, rows, want)
	}
}

// text reads a value as any driver gives it.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// table reads the facts of a table, or nil.
func (s *session) table(name string) *schema.Table {
	s.Helper()
	t, err := s.Table(s.Context(), s, "", name)
	if err != nil {
		s.Fatalf("table %s: %v", name, err)
	}
	return t
}

// slotted configures the table posts and makes its slot table, twice.
func (s *session) slotted(layout func(*schema.Counter)) *schema.Table {
	s.Helper()
	t := counter(s.table("posts"), layout)
	for range 2 {
		s.run(s.CreateSlots(t)...)
	}
	return t
}

// begin opens a transaction as a drain does.
func (s *session) begin() { s.Helper(); s.run(s.Drain().Begin...) }

// commit ends it.
func (s *session) commit() { s.Helper(); s.run(s.Drain().Commit...) }

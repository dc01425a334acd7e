package session

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// granted is what an error says has to be granted.
func granted(t *testing.T, err error) []string {
	t.Helper()
	var moved *slotsql.NotMovedError
	if !errors.As(err, &moved) || !errors.Is(err, slotsql.ErrNotMoved) {
		t.Fatalf("error %v, want ErrNotMoved", err)
	}
	_, list, ok := strings.Cut(moved.Reason, "as the owner of table posts: ")
	if !ok {
		t.Fatalf("error %v does not tell what to grant", err)
	}
	list, _, _ = strings.Cut(list, "; or ")
	return strings.Split(list, "; ")
}

var viewStatements = []string{
	"SELECT views FROM tops WHERE id = 1",
	"SELECT id, views, views + 1, COUNT(*) OVER () FROM tops ORDER BY views DESC, id -- the first",
	"WITH x AS (SELECT * FROM tops) SELECT SUM(views) FROM x",
	"SELECT views, views FROM tops WHERE views > 12 ORDER BY id;",
	"DELETE FROM log",
}

// A role that may select a view over a counter table, and nothing of the table, reads as plain while the table has
// no slots; otherwise the error names what to grant, after which it reads totals.
func TestViewsOfRoleThatOnlySelects(t *testing.T) {
	sleeping(t, func(t *testing.T, p *twin.Pair, a *accounts, slotted *sql.DB) {
		a.run(
			t,
			"CREATE VIEW tops AS SELECT id, views FROM posts",
			"GRANT SELECT ON tops TO app",
			"GRANT SELECT, INSERT, DELETE ON log TO app",
		)
		for _, g := range a.refused(t) {
			if !strings.HasPrefix(g, "GRANT SELECT ON ") {
				t.Errorf("told %q", g)
			}
			twin.ExecAll(t, p.Under, g)
		}
		count := func() {
			t.Helper()
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		}
		pair := a.pair(t)
		s := both{twin.Conn(t, pair.plain.(*sql.DB)), twin.Conn(t, pair.wrapped.(*sql.DB))}
		all := func(s both, statements []string) {
			t.Helper()
			for _, query := range statements {
				s.same(t, twin.Statement{SQL: query})
			}
		}
		all(s, viewStatements)
		s.same(
			t,
			twin.Statement{
				SQL:  "SELECT views FROM tops WHERE id = " + map[string]string{"postgres": "$1", "mysql": "?"}[p.Dialect],
				Args: []any{2},
			},
		)
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead} {
			count()
			txs := s.begin(t, &sql.TxOptions{Isolation: level})
			all(txs.both, viewStatements[:4])
			count()
			all(txs.both, viewStatements[:4])
			txs.commit(t)
		}
		execAll(t, p.Plain, "UPDATE posts SET views = views + 1 WHERE id = 1")
		execAll(t, slotted, "UPDATE posts SET views = views + 1 WHERE id = 1")
		for _, g := range granted(t, s.wrapped.(*sql.Conn).QueryRowContext(t.Context(), "SELECT views FROM tops").Scan(new(int))) {
			twin.ExecAll(t, p.Under, g)
		}
		all(a.pair(t), viewStatements)
		p.Same(t, twin.Statement{SQL: totals})
	})
}

// sleeping is twoServers for a table without slots, and another process, whose increments go to slots.
func sleeping(t *testing.T, f func(t *testing.T, p *twin.Pair, a *accounts, slotted *sql.DB)) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: heldConfig})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"}) // makes the slot table
		f(t, p, newAccounts(t, p), otherProcess(t, p))
	})
}

// transactions are one on each side.
type transactions struct{ both }

func (b both) begin(t *testing.T, o *sql.TxOptions) transactions {
	t.Helper()
	var out [2]twin.Session
	for i, c := range []twin.Session{b.plain, b.wrapped} {
		tx, err := c.(interface {
			BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
		}).BeginTx(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = tx
	}
	return transactions{both{out[0], out[1]}}
}

func (x transactions) commit(t *testing.T) {
	t.Helper()
	for _, tx := range []twin.Session{x.plain, x.wrapped} {
		if err := tx.(*sql.Tx).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// lockGrants let a role lock rows, and change what is no counter.
var lockGrants = map[string][]string{
	"UPDATE of a column": {"GRANT SELECT ON posts TO app", "GRANT UPDATE (title) ON posts TO app"},
	"DELETE":             {"GRANT SELECT, DELETE ON posts TO app", "GRANT UPDATE (title) ON posts TO app"},
	"SELECT alone":       {"GRANT SELECT ON posts TO app"},
}

var lockStatements = []string{
	"SELECT views FROM posts WHERE id = 2 FOR UPDATE",
	"SELECT views, likes, title FROM posts WHERE id IN (2, 3) ORDER BY id FOR UPDATE",
	"SELECT views FROM posts WHERE id = 77 FOR UPDATE",
	"UPDATE posts SET title = 'new' WHERE id = 2",
	"SELECT views FROM posts WHERE id = 2",
	"DELETE FROM posts WHERE id = 3 AND views > 5",
	"UPDATE posts SET views = 7 WHERE id = 2",
	"UPDATE posts SET views = 7 WHERE id = 1",
	"UPDATE posts SET views = 7 WHERE id = 1; ",
}

// A role that may lock rows, or delete them, and not update their counters, does so as
// with the plain driver while the table has no slots. Otherwise the error names what to grant.
func TestLocksOfRoleThatMayNotCount(t *testing.T) {
	sleeping(t, func(t *testing.T, p *twin.Pair, a *accounts, slotted *sql.DB) {
		const lock = "SELECT views FROM posts WHERE id = 1 FOR UPDATE"
		for name, list := range lockGrants {
			if p.Dialect == "mysql" {
				twin.ExecAll(t, p.Plain, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+a.name)
			} else {
				a.run(t, "REVOKE ALL ON posts FROM app")
				twin.ExecAll(t, p.Under, a.named("REVOKE ALL ON posts_slots FROM app"))
			}
			a.run(t, list...)
			twin.ExecAll(t, p.Under, a.named("GRANT SELECT ON posts_slots TO app"))
			p.Same(t, twin.Statement{SQL: "DELETE FROM posts WHERE id = 3"})
			p.Same(t, twin.Statement{SQL: "INSERT INTO posts (id, views) VALUES (3, 8)"})
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views * 2"}) // folds
			s := a.pair(t)
			for _, tx := range []bool{false, true} {
				for _, query := range lockStatements {
					if tx {
						txs := both{twin.Conn(t, s.plain.(*sql.DB)), twin.Conn(t, s.wrapped.(*sql.DB))}.begin(t, nil)
						txs.same(t, twin.Statement{SQL: query})
						if _, err := txs.plain.(*sql.Tx).Exec("SELECT 1"); err == nil {
							txs.same(t, twin.Statement{SQL: "SELECT views FROM posts WHERE id = 2"})
						}
						_, _ = txs.plain.(*sql.Tx).Rollback(), txs.wrapped.(*sql.Tx).Rollback()
					} else {
						s.same(t, twin.Statement{SQL: query})
					}
					p.Same(t, twin.Statement{SQL: totals})
				}
			}
			if t.Failed() {
				t.Fatal(name)
			}
			if err := s.plain.(*sql.DB).QueryRow(lock).Scan(new(int)); err != nil {
				continue
			}
			execAll(t, p.Plain, "UPDATE posts SET views = views + 1 WHERE id = 1")
			execAll(t, slotted, "UPDATE posts SET views = views + 1 WHERE id = 1")
			for _, g := range granted(t, s.wrapped.(*sql.DB).QueryRow(lock).Scan(new(int))) {
				twin.ExecAll(t, p.Under, g)
			}
			a.pair(t).same(t, twin.Statement{SQL: lock})
			p.Same(t, twin.Statement{SQL: totals})
		}
	})
}

// allStatements drain all rows, or those that two counters may select. The first is refused with the plain driver, too.
var allStatements = []string{
	"UPDATE posts SET views = 0 WHERE title <> 'nobody'",
	"UPDATE posts SET title = 'x' WHERE views > 2 AND likes < 9",
	"UPDATE posts SET title = CASE WHEN views > likes THEN 'a' ELSE 'b' END",
}

// A role that may set an ordinary column sets it by what counters are, if it may move slots; otherwise the error
// names what to grant. One that may not change the row at all gets the engine's error.
func TestOrdinaryColumnByCountersOfRole(t *testing.T) {
	twoServers(t, func(t *testing.T, p *twin.Pair, a *accounts) {
		a.run(t, "GRANT SELECT ON posts TO app", "GRANT UPDATE (title) ON posts TO app")
		twin.ExecAll(t, p.Under, a.named("GRANT SELECT ON posts_slots TO app"))
		s := a.pair(t)
		for _, tx := range []bool{false, true} {
			for i, query := range allStatements {
				on, rollback := s, func() {}
				if tx {
					txs := both{twin.Conn(t, s.plain.(*sql.DB)), twin.Conn(t, s.wrapped.(*sql.DB))}.begin(t, nil)
					on, rollback = txs.both, func() { _, _ = txs.plain.(*sql.Tx).Rollback(), txs.wrapped.(*sql.Tx).Rollback() }
				}
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				_, plain := on.plain.ExecContext(t.Context(), query)
				_, wrapped := on.wrapped.ExecContext(t.Context(), query)
				rollback()
				if denied := plain != nil; denied != (i == 0) || denied && twin.Class(plain) != twin.Class(wrapped) {
					t.Errorf("%s: plain %v, wrapped %v", query, plain, wrapped)
				} else if !denied {
					granted(t, wrapped)
				}
			}
		}
	})
}

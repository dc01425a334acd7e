package session

import (
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// accounts is one role, or user, of both sides of a pair, with its own connections.
type accounts struct {
	p              *twin.Pair
	name           string
	plain, wrapped string // DSNs
}

func newAccounts(t *testing.T, p *twin.Pair) *accounts {
	t.Helper()
	if p.Dialect == "mysql" {
		u := mysqlUsers(t, p)
		return &accounts{p: p, name: u.name, plain: u.plainDSN, wrapped: u.dsn}
	}
	a := &accounts{p: p, name: "app_" + strconv.FormatUint(rand.Uint64(), 36)}
	as := func(dsn string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("user", a.name)
		u.RawQuery = q.Encode()
		return u.String()
	}
	a.plain, a.wrapped = as(p.PlainDSN), as(p.WrappedDSN)
	twin.ExecAll(t, p.Plain, "CREATE ROLE "+a.name+" LOGIN")
	t.Cleanup(func() {
		_, _ = p.Plain.Exec("DROP OWNED BY " + a.name)
		_, _ = p.Under.Exec("DROP OWNED BY " + a.name)
		if _, err := p.Plain.Exec("DROP ROLE " + a.name); err != nil {
			t.Error(err)
		}
	})
	return a
}

// run runs statements about the account, called app in them, on both sides as the
// owner of the tables.
func (a *accounts) run(t *testing.T, statements ...string) {
	t.Helper()
	for _, query := range statements {
		for _, db := range []*sql.DB{a.p.Plain, a.p.Under} {
			twin.ExecAll(t, db, a.named(query))
		}
	}
}

func (a *accounts) named(query string) string {
	return regexp.MustCompile(`\bapp\b`).ReplaceAllString(query, a.name)
}

// pair opens both sides as the account.
func (a *accounts) pair(t *testing.T) both {
	t.Helper()
	driver := twin.Plain[a.p.Dialect]
	plain, err := sql.Open(driver, a.plain)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := twin.OpenWrapped(driver, a.wrapped, a.p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = plain.Close(), wrapped.Close() })
	return both{plain, wrapped}
}

// refused connects as the account, and expects an error that names what to grant.
func (a *accounts) refused(t *testing.T) (grants []string) {
	t.Helper()
	s := a.pair(t)
	if err := s.plain.(*sql.DB).Ping(); err != nil {
		t.Fatal("plain:", err)
	}
	err := s.wrapped.(*sql.DB).Ping()
	var config *slotsql.ConfigError
	if !errors.As(err, &config) {
		t.Fatalf("error %v, want a ConfigError", err)
	}
	_, list, ok := strings.Cut(err.Error(), "as its owner: ")
	if !ok || !strings.Contains(err.Error(), "posts_slots") {
		t.Fatalf("error %v does not tell what to grant", err)
	}
	return strings.Split(list, "; ")
}

// twoServers are the engines that have accounts.
func twoServers(t *testing.T, f func(t *testing.T, p *twin.Pair, a *accounts)) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		for range 3 { // makes the slot table, and slots of one row
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		}
		f(t, p, newAccounts(t, p))
	})
}

var rightsAtConnect = map[string]struct {
	grants     []string
	want       []string // rights that have to be granted; none: connects
	statements []string
}{
	"counts": {
		[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON posts TO app"},
		[]string{"SELECT", "INSERT", "UPDATE", "DELETE"},
		[]string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = 7 WHERE id = 2", totals},
	},
	"reads": {
		[]string{"GRANT SELECT ON posts TO app"},
		[]string{"SELECT"},
		[]string{totals, "SELECT views FROM posts WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	},
	"reads a column": {
		[]string{"GRANT SELECT (id, views), INSERT (likes) ON posts TO app"},
		[]string{"SELECT"},
		[]string{"SELECT views FROM posts WHERE id = 1"},
	},
	"inserts": {[]string{"GRANT INSERT ON posts TO app"}, nil, []string{"INSERT INTO posts (id, views) VALUES (77, 1)", totals}},
	"nothing": {nil, nil, []string{"SELECT 1", totals, "UPDATE posts SET views = views + 1 WHERE id = 1"}},
}

// A role that may read or update counters, and has no rights on the slot table, gets
// an error that names what to grant when it connects. With that it does what it may do with the plain
// driver.
func TestSlotRightsAtConnect(t *testing.T) {
	twoServers(t, func(t *testing.T, p *twin.Pair, a *accounts) {
		for name, c := range rightsAtConnect {
			if p.Dialect == "mysql" {
				twin.ExecAll(t, p.Plain, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+a.name)
				twin.ExecAll(t, p.Plain, "GRANT USAGE ON *.* TO "+a.name)
			} else {
				a.run(t, "REVOKE ALL ON posts FROM app")
				twin.ExecAll(t, p.Under, a.named("REVOKE ALL ON posts_slots FROM app"))
			}
			a.run(t, c.grants...)
			if p.Dialect == "mysql" && name == "nothing" {
				a.run(t, "GRANT SELECT ON log TO app") // else it has no database
			}
			if c.want != nil {
				for _, g := range a.refused(t) {
					if want := "GRANT " + strings.Join(c.want, ", ") + " ON "; !strings.HasPrefix(g, want) {
						t.Errorf("%s: told %q, want %q", name, g, want)
					}
					twin.ExecAll(t, p.Under, g)
				}
			}
			s := a.pair(t)
			for _, query := range c.statements {
				s.same(t, twin.Statement{SQL: query})
				p.Same(t, twin.Statement{SQL: totals})
			}
			if t.Failed() {
				t.Fatal(name)
			}
		}
	})
}

// A role without rights on a table needs none on its slot table, though it is looked at for a counter that cannot be
// slotted any longer.
func TestSlotRightsOfUnslotted(t *testing.T) {
	twoServers(t, func(t *testing.T, p *twin.Pair, a *accounts) {
		p.Same(t, twin.Statement{SQL: "ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 1000000)"})
		a.run(t, "GRANT SELECT ON log TO app")
		s := a.pair(t)
		for _, query := range []string{"SELECT COUNT(*) FROM log", "SELECT views FROM posts", totals} {
			s.same(t, twin.Statement{SQL: query})
		}
	})
}

// A program whose connections were refused goes on when the rights have been granted.
func TestSlotRightsAfterGrant(t *testing.T) {
	twoServers(t, func(t *testing.T, p *twin.Pair, a *accounts) {
		a.run(t, "GRANT SELECT, UPDATE, TRIGGER ON posts TO app")
		s := a.pair(t)
		err := s.wrapped.(*sql.DB).Ping()
		if err == nil {
			t.Fatal("connects without rights on the slot table")
		}
		for _, g := range strings.Split(err.Error()[strings.Index(err.Error(), "as its owner: ")+len("as its owner: "):], "; ") {
			twin.ExecAll(t, p.Under, g)
		}
		s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views * 2 WHERE id = 1"})
		p.Same(t, twin.Statement{SQL: totals})
	})
}

// A user of MySQL who has rights by a role, once the session has set it.
func TestSlotRightsByRole(t *testing.T) {
	t.Parallel()
	p := newPair(t, "mysql", "")
	for range 3 {
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
	}
	a := newAccounts(t, p)
	role := "role_" + a.name
	twin.ExecAll(t, p.Plain, "CREATE ROLE "+role, "GRANT "+role+" TO "+a.name)
	t.Cleanup(func() { _, _ = p.Plain.Exec("DROP ROLE " + role) })
	a.run(
		t,
		"GRANT SELECT ON log TO app",
		"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON posts TO "+role,
		"CREATE VIEW tops AS SELECT id, views FROM posts",
		"GRANT SELECT ON tops TO "+role,
	)
	twin.ExecAll(t, p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO "+role)
	s := a.pair(t)
	one := both{twin.Conn(t, s.plain.(*sql.DB)), twin.Conn(t, s.wrapped.(*sql.DB))}
	one.same(t, twin.Statement{SQL: totals})
	for range 2 {
		one.same(t, twin.Statement{SQL: "SET ROLE " + role})
		for _, query := range []string{totals, "SELECT views FROM posts WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM tops WHERE id = 1", "BEGIN", totals, "UPDATE posts SET views = views + 1 WHERE id = 1", totals, "COMMIT", totals} {
			one.same(t, twin.Statement{SQL: query})
		}
		one.same(t, twin.Statement{SQL: "SET ROLE NONE"})
		one.same(t, twin.Statement{SQL: totals})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
	}
	p.Same(t, twin.Statement{SQL: totals})
}

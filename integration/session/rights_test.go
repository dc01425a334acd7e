package session

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql/integration/twin"
)

// rights are sets of privileges on posts, and the statements of the test are the
// same for all of them: each is refused, or not, as by the plain driver.
var rights = map[string][]string{
	"all":                  {"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app"},
	"no UPDATE":            {"GRANT SELECT, INSERT, DELETE ON posts TO app"},
	"no INSERT":            {"GRANT SELECT, UPDATE, DELETE ON posts TO app"},
	"no SELECT":            {"GRANT INSERT, UPDATE ON posts TO app"},
	"UPDATE of title":      {"GRANT SELECT, INSERT ON posts TO app", "GRANT UPDATE (title) ON posts TO app"},
	"UPDATE of views":      {"GRANT SELECT, INSERT ON posts TO app", "GRANT UPDATE (views) ON posts TO app"},
	"UPDATE of both":       {"GRANT SELECT, INSERT ON posts TO app", "GRANT UPDATE (views, likes) ON posts TO app"},
	"SELECT of title":      {"GRANT SELECT (title) ON posts TO app", "GRANT UPDATE, INSERT ON posts TO app"},
	"SELECT of id":         {"GRANT SELECT (id) ON posts TO app", "GRANT UPDATE, INSERT ON posts TO app"},
	"SELECT of the needed": {"GRANT SELECT (id, views) ON posts TO app", "GRANT UPDATE (views), INSERT (id, views) ON posts TO app"},
	"INSERT of id":         {"GRANT SELECT, UPDATE ON posts TO app", "GRANT INSERT (id) ON posts TO app"},
}

var rightsStatements = []string{
	"UPDATE posts SET views = views + 1 WHERE id = 1",
	"UPDATE posts SET views = views + 1 WHERE id = 1 AND title = 'one'",
	"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1",
	"UPDATE posts SET likes = likes + 1 WHERE id = 1",
	"INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
	"INSERT INTO posts (id, views) VALUES (9, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
	"UPDATE posts SET views = views + 1 WHERE id = 77",
}

// A role is refused what the plain driver is refused: by the rights it has when it
// connects, and by those that it is given and loses later.
func TestRights(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: config})
		twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1") // makes the slot table
		twin.ExecAll(t, p.Plain, "UPDATE posts SET views = views + 1 WHERE id = 1")
		role := "app_" + strings.ToLower(strings.Map(letters, t.Name()))
		owner := []twin.Execer{p.Plain, p.Under}
		for _, db := range owner[:1] {
			twin.ExecAll(t, db, "DROP ROLE IF EXISTS "+role, "CREATE ROLE "+role)
		}
		t.Cleanup(func() {
			for i, query := range []string{"DROP OWNED BY " + role, "DROP OWNED BY " + role, "DROP ROLE " + role} {
				if _, err := owner[i%2].ExecContext(context.Background(), query); err != nil {
					t.Error(err)
				}
			}
		})
		twin.ExecAll(t, p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO "+role)
		s := pinned(t, p)
		for name, grants := range rights {
			for _, db := range owner {
				for _, g := range append([]string{"REVOKE ALL ON posts FROM app"}, grants...) {
					twin.ExecAll(t, db, strings.ReplaceAll(g, " app", " "+role))
				}
			}
			for round := range 2 {
				for _, query := range rightsStatements {
					s.same(t, twin.Statement{SQL: "SET ROLE " + role})
					s.same(t, twin.Statement{SQL: query})
					s.same(t, twin.Statement{SQL: "RESET ROLE"})
					s.same(t, twin.Statement{SQL: totals})
					if round == 0 { // the slot row is there, and known
						s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1"})
						s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
					}
				}
			}
			if t.Failed() {
				t.Fatal(name, fmt.Sprint(grants))
			}
		}
	})
}

// A user is refused what the plain driver is refused when it connects.
func TestRightsOfUser(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"), Config: config})
		for _, db := range []twin.Execer{p.Plain, p.Wrapped} {
			twin.ExecAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
		}
		users := mysqlUsers(t, p)
		s := users.open(t)
		for name, grants := range rights {
			if name == "SELECT of the needed" {
				continue // an account that does not see a configured column gets an error at connect
			}
			users.grant(t, append(grants, "GRANT TRIGGER ON posts TO app", "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO app"))
			s := s(t)
			for round := range 2 {
				for _, query := range rightsStatements {
					s.same(t, twin.Statement{SQL: onConflict.ReplaceAllString(query, "ON DUPLICATE KEY UPDATE ")})
					p.Same(t, twin.Statement{SQL: totals})
					if round == 0 {
						p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1"})
						p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
					}
				}
			}
			if t.Failed() {
				t.Fatal(name, grants)
			}
		}
	})
}

// users is one user of both sides of a pair.
type users struct {
	p             *twin.Pair
	name          string
	plain, under  *sql.DB // the administrator's
	plainDSN, dsn string
}

func mysqlUsers(t *testing.T, p *twin.Pair) *users {
	t.Helper()
	u := &users{p: p, name: "app_" + strconv.FormatUint(rand.Uint64(), 36), plain: p.Plain, under: p.Under}
	as := func(dsn string) string {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		c.User, c.Passwd = u.name, "secret"
		return c.FormatDSN()
	}
	u.plainDSN, u.dsn = as(p.PlainDSN), as(p.WrappedDSN)
	twin.ExecAll(t, p.Plain, "CREATE USER "+u.name+" IDENTIFIED BY 'secret'")
	t.Cleanup(func() {
		if _, err := p.Plain.Exec("DROP USER " + u.name); err != nil {
			t.Error(err)
		}
	})
	return u
}

// grant gives the user these rights and no others.
func (u *users) grant(t *testing.T, grants []string) {
	t.Helper()
	twin.ExecAll(t, u.plain, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+u.name)
	for i, db := range []*sql.DB{u.plain, u.under} {
		for _, g := range grants {
			if i == 0 && strings.Contains(g, "posts_slots") {
				continue // the plain side has none
			}
			twin.ExecAll(t, db, strings.ReplaceAll(g, " app", " "+u.name))
		}
	}
}

// open returns a function that opens both sides as the user.
func (u *users) open(t *testing.T) func(*testing.T) both {
	return func(t *testing.T) both {
		t.Helper()
		plain, err := sql.Open("mysql", u.plainDSN)
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := twin.OpenWrapped("mysql", u.dsn, u.p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = plain.Close(), wrapped.Close() })
		one := func(db *sql.DB) *sql.Conn {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		return both{one(plain), one(wrapped)}
	}
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

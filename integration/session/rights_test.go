package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

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

var rightsTexts = []string{
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
			for i, text := range []string{"DROP OWNED BY " + role, "DROP OWNED BY " + role, "DROP ROLE " + role} {
				if _, err := owner[i%2].ExecContext(context.Background(), text); err != nil {
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
				for _, text := range rightsTexts {
					s.same(t, twin.Statement{SQL: "SET ROLE " + role})
					s.same(t, twin.Statement{SQL: text})
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

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

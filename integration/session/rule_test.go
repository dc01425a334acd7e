package session

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A rewrite rule for UPDATE that another client makes concerns the rows whose slots
// hold something: they are not drained, and an error says why. Statements on other
// rows run as with the plain driver, and all of them once the rule is gone.
func TestUpdateRule(t *testing.T) {
	for name, rule := range map[string]string{
		"instead":     "CREATE RULE r AS ON UPDATE TO posts DO INSTEAD NOTHING",
		"conditional": "CREATE RULE r AS ON UPDATE TO posts WHERE OLD.id = 3 DO INSTEAD NOTHING",
		"also":        "CREATE RULE r AS ON UPDATE TO posts DO ALSO INSERT INTO log VALUES (OLD.id)",
		"two":         "CREATE RULE r AS ON UPDATE TO posts DO INSTEAD (INSERT INTO log VALUES (1); INSERT INTO log VALUES (2))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "postgres", Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
				"INSERT INTO posts VALUES (1, 0), (2, 0), (3, 0), (4, 0)",
				"CREATE TABLE log (n INT)",
			}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
			same(t, p, "UPDATE posts SET views = views + 3 WHERE id = 1")
			execAll(t, p.Plain, rule)
			execAll(t, p.Under, rule)
			for range 2 {
				for _, query := range []string{
					"UPDATE posts SET views = 5 WHERE id = 2", "SELECT views FROM posts WHERE id = 2 FOR UPDATE", "UPDATE posts SET views = views - 1 WHERE id = 3 AND views > 0",
					"UPDATE posts SET views = views + 1 WHERE id = 2", "DELETE FROM posts WHERE id = 4", "SELECT id, views FROM posts ORDER BY id", "SELECT n FROM log ORDER BY n",
				} {
					same(t, p, query)
				}
			}
			for _, query := range []string{"UPDATE posts SET views = 5 WHERE id = 1", "UPDATE posts SET views = views * 2", "SELECT views FROM posts WHERE id = 1 FOR UPDATE"} {
				if _, err := p.Wrapped.Exec(query); !errors.Is(err, slotsql.ErrNotMoved) {
					t.Errorf("%s: %v", query, err)
				}
			}
			same(t, p, "SELECT id, views FROM posts ORDER BY id")
			execAll(t, p.Plain, "DROP RULE r ON posts")
			execAll(t, p.Under, "DROP RULE r ON posts")
			if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
				t.Fatal(err)
			}
			same(t, p, "UPDATE posts SET views = views * 2", "SELECT id, views FROM posts ORDER BY id")
		})
	}
}

func same(t *testing.T, p *twin.Pair, statements ...string) {
	t.Helper()
	for _, query := range statements {
		p.Same(t, twin.Statement{SQL: query})
	}
}

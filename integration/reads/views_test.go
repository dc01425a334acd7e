package reads

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestViews: views over a counter table, at any depth and made at any time,
// show totals.
func TestViews(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, title VARCHAR(20))",
				"CREATE TABLE other (id INTEGER PRIMARY KEY, n INTEGER)",
				"INSERT INTO posts VALUES (1, 10, 'a'), (2, 20, 'b')",
				"CREATE VIEW busy AS SELECT id, views FROM posts WHERE views > 11",
				"CREATE VIEW busiest AS SELECT MAX(views) AS top FROM busy",
				"CREATE VIEW aside AS SELECT n FROM other",
			},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
		})
		for _, query := range []string{
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"SELECT * FROM busy ORDER BY id",
			"UPDATE posts SET views = views + 5 WHERE id = 2",
			"SELECT top FROM busiest",
			"UPDATE posts SET views = views + 5 WHERE id = 2",
			"INSERT INTO other SELECT id, views FROM busy",
			"SELECT * FROM aside ORDER BY n",
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"CREATE VIEW late AS SELECT SUM(views) AS s FROM posts",
			"SELECT s FROM late",
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"CREATE VIEW later AS SELECT s + 1 AS s FROM late",
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"SELECT s FROM later",
			"SELECT views FROM posts ORDER BY id",
		} {
			p.Same(t, twin.Statement{SQL: query})
		}
	})
}

package integration

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestViews: views over a counter table, at any depth and made at any time,
// show totals.
func TestViews(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
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
}

// TestSlotRowOfAnother: a slot row that an increment of one counter has made does
// not take those of another whose base value may have no slots.
func TestSlotRowOfAnother(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, likes INTEGER)",
					"INSERT INTO posts VALUES (1, 10, 1)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}}}\n",
			})
			like, both := "UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = 1", "UPDATE posts SET likes = COALESCE(likes, 0) + 1, views = views + 1 WHERE id = 1"
			view := "UPDATE posts SET views = views + 1 WHERE id = 1"
			for _, query := range []string{
				like, like, both, // slot row and short forms are known
				"UPDATE posts SET likes = NULL WHERE id = 1",
				view, // makes the slot row again
				like, like,
				"UPDATE posts SET likes = NULL WHERE id = 1",
				view,
				both, both,
				"UPDATE posts SET views = 2147483640 WHERE id = 1",
				like, both, view, view, view, view, view, view, view, view,
			} {
				p.Same(t, twin.Statement{SQL: query})
				p.Same(t, twin.Statement{SQL: "SELECT * FROM posts"})
			}
		})
	}
}

package exactness

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestSlotRowOfAnother: a slot row that an increment of one counter has made does
// not take those of another whose base value may have no slots.
func TestSlotRowOfAnother(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
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

package integration

import (
	"math"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A negative LIMIT means no limit on SQLite, and LIMIT NULL means none on PostgreSQL. The largest integer is as good as none on both.
func TestLimitArgumentThatIsNone(t *testing.T) {
	for dialect, none := range map[string]any{"sqlite": int64(-1), "postgres": nil} {
		t.Run(dialect, func(t *testing.T) {
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL, views INT NOT NULL)",
					"CREATE INDEX posts_views ON posts (views)",
					"CREATE INDEX posts_author ON posts (author, views)",
					"INSERT INTO posts WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 300) " +
						"SELECT id, id % 2, id * 7 % 300 FROM n",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
			})
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 200 WHERE id = 1"})
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views - 100 WHERE id = 2"})
			for _, query := range []string{
				"SELECT id, views FROM posts ORDER BY views DESC, id",
				"SELECT id, views FROM posts ORDER BY author DESC, views DESC, id DESC",
				"SELECT id, views FROM posts ORDER BY views * 2 + author DESC, id",
				"SELECT id, views FROM posts WHERE views > 20 ORDER BY views, id",
				"SELECT DISTINCT views FROM posts ORDER BY views DESC",
				"SELECT id, RANK() OVER (ORDER BY views DESC) AS r FROM posts ORDER BY views DESC, id",
				"SELECT p.id, p.views FROM posts p JOIN posts q ON q.id = p.id ORDER BY p.views DESC, p.id",
				"SELECT id, views FROM (SELECT id, views FROM posts) d ORDER BY views DESC, id",
			} {
				for _, args := range [][]any{{none}, {int64(3)}, {none, int64(2)}, {int64(3), none}, {int64(0)}, {int64(math.MaxInt64)}} {
					limit := " LIMIT ?"
					if len(args) > 1 {
						limit += " OFFSET ?"
					}
					if dialect == "postgres" {
						limit = strings.Replace(strings.Replace(limit, "?", "$1", 1), "?", "$2", 1)
					}
					p.Same(t, twin.Statement{SQL: query + limit, Args: args})
				}
			}
		})
	}
}

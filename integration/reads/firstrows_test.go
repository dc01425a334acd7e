package reads

import (
	"strconv"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// Where all rows at the top have fallen behind, the first row is another one, whichever counters have slots.
func TestFirstRowsBehindOthers(t *testing.T) {
	t.Parallel()
	series := map[string]string{
		"mysql": server.Series(120), "postgres": "generate_series(1, 120) AS s(seq)", "sqlite": server.SQLiteSeries("1", "120"),
	}
	for dialect, numbers := range series {
		for layout, counters := range map[string]string{
			"dedicated": "{views: {}, likes: {}}",
			"journal":   "{views: {}, likes: {}}",
			"shared":    "{views: {record_type: 1}, likes: {record_type: 2}}",
		} {
			t.Run(dialect+"/"+layout, func(t *testing.T) {
				t.Parallel()
				n := "seq"
				if dialect == "sqlite" {
					n = "n"
				}
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT NOT NULL, likes INT NOT NULL)",
						"INSERT INTO posts SELECT " + n + ", 1000 - " + n + ", 0 FROM " + numbers,
					},
					Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: connection}\n" +
						"tables: {posts: {layout: " + layout + ", counters: " + counters + "}}\n",
				})
				for _, on := range []twin.Session{p.Plain, p.Wrapped} {
					for id := 1; id <= 105; id++ {
						twin.ExecAll(t, on, "UPDATE posts SET views = views - 2000 WHERE id = "+strconv.Itoa(id))
					}
					twin.ExecAll(t, on, "UPDATE posts SET likes = likes + 1 WHERE id = 106")
				}
				for _, q := range []string{
					"SELECT id, views FROM posts ORDER BY views DESC LIMIT 3",
					"SELECT id, views FROM posts ORDER BY 2 DESC LIMIT 2 OFFSET 1",
					"SELECT MAX(views), MIN(likes) FROM posts",
					"SELECT COUNT(*), MAX(views), AVG(views) FROM posts",
					"SELECT COUNT(*), MIN(-views), SUM(views) FROM posts WHERE views <> 5",
					"SELECT COUNT(*), MAX(CASE WHEN views > 0 THEN views END) FROM posts",
					"SELECT DISTINCT views FROM posts ORDER BY views DESC LIMIT 3",
					"SELECT views, COUNT(*) FROM posts WHERE id > 1 GROUP BY views ORDER BY views DESC LIMIT 2",
					"SELECT DISTINCT likes FROM posts ORDER BY likes DESC LIMIT 2",
					"SELECT likes, COUNT(*), SUM(views) FROM posts GROUP BY likes ORDER BY likes LIMIT 2",
				} {
					p.Same(t, twin.Statement{SQL: q})
				}
			})
		}
	}
}

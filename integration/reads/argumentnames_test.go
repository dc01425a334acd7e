package reads

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Where the driver writes arguments into the SQL, the name of a result column has their values, other ones each time.
func TestNamesOfArguments(t *testing.T) {
	for _, params := range []string{"", "interpolateParams=true"} {
		p := twin.New(t, twin.Options{
			Dialect: "mysql",
			Params:  params,
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
				"INSERT INTO posts VALUES (1, 4), (2, 3)",
			},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
		})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
		for _, n := range []int64{1, 7, 7, 3} {
			p.Same(t, twin.Statement{SQL: "SELECT views + ? FROM posts WHERE views > ? ORDER BY id", Args: []any{n, 1}})
			p.Same(t, twin.Statement{SQL: "SELECT EXISTS (SELECT 1 FROM posts WHERE views > ?), MAX(views) FROM posts", Args: []any{n}})
			p.Same(t, twin.Statement{SQL: "SELECT NULLIF(views, ?) FROM posts WHERE views > ?", Args: []any{n, 1}, Prepared: true})
		}
	}
}

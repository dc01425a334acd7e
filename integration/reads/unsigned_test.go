package reads

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// MySQL 8 makes a DECIMAL of a sum of totals, where the sum of two BIGINT UNSIGNED columns is one. Its
// Go type is the plain driver's: another one for a prepared statement.
func TestUnsignedSumOfTotals(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT UNSIGNED NOT NULL)",
			"INSERT INTO posts VALUES (1, 4), (2, 3)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
	})
	p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
	for _, prepared := range []bool{false, true} {
		p.Same(t, twin.Statement{Prepared: prepared, SQL: "WITH c AS (SELECT * FROM posts) " +
			"SELECT * FROM (SELECT t.views + IF(1, x.views, 0) AS n FROM c t JOIN posts x ON x.id = t.id) q ORDER BY n"})
	}
}

// With interpolateParams arguments are part of the text, and a BIGINT UNSIGNED is an uint64 as without any. The sum of a
// DECIMAL and an argument of a prepared statement has zeros behind the point.
func TestUnsignedSumOfTotalsWithArguments(t *testing.T) {
	for _, params := range []string{"", "interpolateParams=true"} {
		p := twin.New(t, twin.Options{
			Dialect: "mysql",
			Params:  params,
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT UNSIGNED NOT NULL)",
				"INSERT INTO posts VALUES (1, 4), (2, 3)",
			},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
		})
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
		for _, prepared := range []bool{false, true, false} {
			for _, query := range []string{
				"SELECT q.n + COALESCE(q.n, 0) FROM (SELECT views AS n FROM posts) q WHERE q.n > ? ORDER BY 1",
				"SELECT ? + q.n AS s FROM (SELECT IF(1, views, 0) AS n FROM posts) q ORDER BY 1",
			} {
				if params != "" && strings.Contains(query, "? +") {
					continue // whether such a column may be NULL depends on how the argument is sent
				}
				p.Same(t, twin.Statement{Prepared: prepared, SQL: query, Args: []any{int64(1)}})
			}
		}
	}
}

package integration

import (
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

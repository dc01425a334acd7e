package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What cannot run in a transaction runs where it does with the plain driver.
func TestOutsideTransactions(t *testing.T) {
	t.Parallel()
	p := twin.New(
		t,
		twin.Options{
			Dialect: "postgres",
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: random}}\n",
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, title TEXT) PARTITION BY RANGE (id)",
				"CREATE TABLE p1 PARTITION OF posts FOR VALUES FROM (0) TO (100)",
				"CREATE TABLE p2 PARTITION OF posts FOR VALUES FROM (100) TO (200)",
				"CREATE TABLE p3 PARTITION OF posts FOR VALUES FROM (200) TO (300)",
				"INSERT INTO posts VALUES (1, 1, 'a'), (101, 2, 'b'), (201, 3, 'c')",
			},
		},
	)
	s := pinned(t, p)
	for _, query := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 101", "UPDATE posts SET views = views + 1 WHERE id = 201",
		"ALTER TABLE posts DETACH PARTITION p2 CONCURRENTLY", "SELECT * FROM posts ORDER BY id", "SELECT * FROM p2",
		"UPDATE posts SET views = views + 1 WHERE id = 101", "UPDATE posts SET views = views + 1 WHERE id = 201",
		"ALTER TABLE posts DETACH PARTITION p3", "SELECT * FROM posts ORDER BY id", "SELECT * FROM p3", "DROP TABLE p3",
		"ALTER TABLE posts ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)", "UPDATE posts SET views = views + 1 WHERE id = 101", "SELECT * FROM posts ORDER BY id",
		"BEGIN", "ALTER TABLE posts DETACH PARTITION p2 CONCURRENTLY", "ROLLBACK",
		"CREATE INDEX CONCURRENTLY p1_title ON p1 (title)", "REINDEX TABLE CONCURRENTLY posts", "DROP INDEX CONCURRENTLY p1_title", "VACUUM posts", "VACUUM (ANALYZE) posts", "CLUSTER p1 USING p1_pkey",
		"SELECT * FROM posts ORDER BY id",
	} {
		s.same(t, twin.Statement{SQL: query})
	}
	s.same(t, twin.Statement{SQL: "ALTER TABLE posts DETACH PARTITION p2 CONCURRENTLY", Mode: twin.Query})
	s.same(t, twin.Statement{SQL: "SELECT * FROM posts ORDER BY id"})
}

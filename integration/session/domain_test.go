package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A counter of a domain is one when it is read, too.
func TestDomain(t *testing.T) {
	t.Parallel()
	p := twin.New(
		t,
		twin.Options{
			Dialect: "postgres",
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, placement: random}}\n",
			Schema: []string{
				"CREATE DOMAIN whole AS INTEGER", `CREATE DOMAIN "Tally" AS whole`,
				`CREATE TABLE posts (id INT PRIMARY KEY, views "Tally" NOT NULL DEFAULT 0, likes whole)`,
				"INSERT INTO posts VALUES (1, 5, 1), (2, 6, NULL)",
				`CREATE FUNCTION kind("Tally") RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$SELECT 'tally'$$`,
				"CREATE FUNCTION kind(bigint) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$SELECT 'bigint'$$",
			},
		},
	)
	s := pinned(t, p)
	for _, query := range []string{
		"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2",
		"SELECT views, likes FROM posts ORDER BY id", "SELECT pg_typeof(views), pg_typeof(likes) FROM posts", "SELECT kind(views) FROM posts",
		"SELECT pg_typeof(views) FROM posts ORDER BY views DESC LIMIT 1", "SELECT id, views FROM posts WHERE views > 5 ORDER BY views DESC LIMIT 2", "SELECT pg_typeof(x.views) FROM (SELECT * FROM posts) x",
		"SELECT pg_typeof(MAX(views)), pg_typeof(views + 1) FROM posts GROUP BY views", "SELECT SUM(views), AVG(views) FROM posts", "SELECT posts FROM posts ORDER BY id",
		"CREATE TABLE copies AS SELECT * FROM posts", "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'copies'::regclass AND attnum > 0 ORDER BY attnum",
		"UPDATE posts SET views = views * 2", "SELECT views FROM posts ORDER BY id",
	} {
		s.same(t, twin.Statement{SQL: query})
	}
}

package integration

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

// The sums of all slots are joined to the rows of a range by a hash table, also where PostgreSQL's statistics
// know of no such row yet: by a nested loop each row would read all sums.
func TestJoinedSumsAreHashed(t *testing.T) {
	dsn := server.Postgres(t)
	plain := openCandidates(t, "pgx", dsn, nil)
	for _, q := range []string{
		"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL)",
		"INSERT INTO posts SELECT n, n % 40, n FROM generate_series(1, 20000) AS s(n)",
		"CREATE INDEX ON posts (views)", "CREATE INDEX ON posts (author)", "ANALYZE posts",
	} {
		execCandidates(t, plain, q)
	}
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrapped := openCandidates(t, "postgres-slotsql", dsn, cfg)
	execCandidates(t, plain, "INSERT INTO posts_slots (id, slot, views) SELECT n, 0, 1 FROM generate_series(1, 10000) AS s(n)")
	execCandidates(t, plain, "ANALYZE posts_slots")
	execCandidates(t, plain, "UPDATE posts SET views = views + 10000000 WHERE id > 15000")
	for _, q := range []string{
		"SELECT id, views FROM posts WHERE views > 9000000",
		"SELECT SUM(views) FROM posts WHERE views BETWEEN 9000000 AND 20000000",
		"SELECT COUNT(*) FROM (SELECT id, views FROM posts) AS p WHERE p.views >= 9000000",
		"WITH p AS (SELECT id FROM posts WHERE views = 10016000) SELECT COUNT(*) FROM p",
		"SELECT author, COUNT(*) FROM posts WHERE views > 9000000 GROUP BY author",
	} {
		plan := explainRead(t, wrapped, "EXPLAIN "+q, nil)
		if !strings.Contains(plan, "slotsql_h") {
			t.Errorf("%s: no sums are joined:\n%s", q, plan)
		}
		if strings.Contains(plan, "Nested Loop") {
			t.Errorf("%s: each row reads all sums:\n%s", q, plan)
		}
	}
	// With another condition PostgreSQL may expect a single row, and with a LIMIT it may count on few.
	for _, q := range []string{
		"SELECT id, views FROM posts WHERE views > 9000000 AND author = 3",
		"SELECT COUNT(*) FROM (SELECT id, views, author FROM posts) AS p WHERE p.views > 9000000 AND p.author = 3",
		"SELECT id FROM (SELECT id, author, RANK() OVER (PARTITION BY author ORDER BY views) AS r FROM posts WHERE views > 9000000) AS p " +
			"WHERE p.author = 3",
		"WITH p AS NOT MATERIALIZED (SELECT id FROM posts WHERE views > 9000000) " +
			"SELECT id, (SELECT COUNT(*) FROM p AS q WHERE q.id = p.id) FROM p",
		"SELECT id, views FROM posts WHERE views > 9000000 LIMIT 5",
		"SELECT a.id FROM posts a JOIN posts b ON b.id = a.id WHERE b.views > 9000000",
		"SELECT EXISTS (SELECT 1 FROM posts WHERE views > 9000000)",
	} {
		if plan := explainRead(t, wrapped, "EXPLAIN "+q, nil); strings.Contains(plan, "slotsql_h") {
			t.Errorf("%s: sums are joined:\n%s", q, plan)
		}
	}
}

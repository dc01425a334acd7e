package drains

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestCreateTableAs compares the tables that CREATE TABLE ... SELECT makes,
// plain and wrapped: names, types, nullability, defaults and comments as the
// engine itself tells them, and the rows.
func TestCreateTableAs(t *testing.T) {
	statements := []string{
		"CREATE TABLE made AS SELECT id, views, likes, score, big FROM posts",
		"CREATE TABLE made AS SELECT views AS v, (score) AS s, likes + 1 AS n, UPPER(title) AS t FROM posts",
		"CREATE TABLE made AS SELECT * FROM posts WHERE views > 5 ORDER BY likes",
		"CREATE TABLE made AS SELECT p.*, q.views AS other FROM posts p JOIN posts q ON q.id = p.id + 1",
		"CREATE TABLE made AS SELECT q.views FROM posts p LEFT JOIN posts q ON q.id = p.id + 1",
		"CREATE TABLE made AS SELECT SUM(views) AS s, MAX(likes) AS m, COUNT(*) AS n, AVG(score) AS a FROM posts",
		"CREATE TABLE made AS SELECT views, likes FROM posts UNION ALL SELECT likes, 3 FROM posts",
		"CREATE TABLE made AS SELECT DISTINCT views FROM posts",
		"CREATE TABLE made AS SELECT d.views FROM (SELECT views FROM posts) d",
		"CREATE TABLE made AS WITH w AS (SELECT views FROM posts) SELECT views FROM w",
		"CREATE TABLE made AS SELECT id, (SELECT p.views FROM posts p WHERE p.id = posts.id) AS n FROM posts",
		"CREATE TABLE made AS SELECT CASE WHEN views > 5 THEN views END AS c FROM posts",
	}
	for d, e := range map[string]struct{ schema, show, more []string }{
		"mysql": {
			schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, views INT UNSIGNED NOT NULL DEFAULT 7 COMMENT 'seen; it''s', likes BIGINT," +
				" score DECIMAL(12,3) DEFAULT -1.500, big INT(7) NOT NULL)"},
			show: []string{"SHOW CREATE TABLE made"},
			more: []string{
				"CREATE TABLE made (views BIGINT NOT NULL, extra INT) SELECT id, views, likes FROM posts",
				"CREATE TABLE made (extra INT, KEY (views)) ENGINE=InnoDB COMMENT='x (y)' AS SELECT id, views, likes AS l FROM posts",
				"CREATE TABLE made (PRIMARY KEY (id)) IGNORE SELECT id, views FROM posts",
			},
		},
		"postgres": {
			schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, views INT NOT NULL DEFAULT 7, likes BIGINT, score NUMERIC(12,3), big NUMERIC NOT NULL)"},
			show:   []string{"SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute WHERE attrelid = 'made'::regclass AND attnum > 0 ORDER BY attnum"},
			more:   []string{"SELECT id, views, score INTO made FROM posts WHERE views > 5", "CREATE UNLOGGED TABLE made (a, b) AS SELECT likes, score FROM posts WITH DATA"},
		},
		"sqlite": {
			schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, views INTEGER NOT NULL DEFAULT 7, likes BIGINT, score NUMERIC(12,3), big INT NOT NULL)"},
			show:   []string{"SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info('made')"},
		},
	} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			p := twin.New(
				t,
				twin.Options{
					Dialect: d,
					Config:  "version: 1\nauto_migrate: true\ntables:\n  posts: {counters: {views: {}, likes: {}, score: {}, big: {}}}\n",
					Schema: append(
						e.schema,
						"INSERT INTO posts VALUES (1, 'one', 10, 3, 1.25, 5), (2, 'two', 20, NULL, 2, 6), (3, 'three', 5, 9, NULL, 7)",
					),
				},
			)
			for _, s := range append(statements, e.more...) {
				for _, c := range []string{"views", "likes", "score", "big"} {
					for _, id := range []string{"1", "2", "3"} {
						p.Same(t, twin.Statement{SQL: "UPDATE posts SET " + c + " = " + c + " + 1 WHERE id = " + id})
					}
				}
				plain, wrapped := p.Same(t, twin.Statement{SQL: s})
				if plain.Err != nil || wrapped.Err != nil {
					t.Fatalf("%s: %v, %v", s, plain.Err, wrapped.Err)
				}
				for _, q := range append(e.show, "SELECT * FROM made") {
					p.Same(t, twin.Statement{SQL: q, Mode: twin.Query})
				}
				p.Same(t, twin.Statement{SQL: "DROP TABLE made"})
				if t.Failed() {
					t.Fatal("after: " + s)
				}
			}
		})
	}
}

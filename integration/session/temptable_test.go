package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A temporary table called like a counter table stands before it in its session,
// in whatever way it has come to be, and is an ordinary table.
func TestTemporaryTableMadeByQuery(t *testing.T) {
	makes := map[string][]string{
		"postgres": {
			"SELECT 1 AS id, 1000 AS views, 0 AS likes, 'temporary' AS title INTO TEMP posts",
			"select id, views, likes, title into temporary table posts from public.posts",
			"WITH p AS (SELECT * FROM posts) SELECT id, views, likes, title INTO TEMP TABLE posts FROM p",
			"SELECT * INTO LOCAL TEMP posts FROM posts",
			"SELECT * INTO pg_temp.posts FROM posts",
			"CREATE TEMP TABLE posts AS SELECT * FROM posts",
			"CREATE TABLE pg_temp.posts AS SELECT * FROM posts",
			"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) CREATE TEMP TABLE posts AS SELECT * FROM public.posts",
			"DO $$BEGIN CREATE TEMP TABLE posts AS SELECT * FROM public.posts; END$$",
			"CALL shadow()",
		},
		"mysql": {
			"CREATE TEMPORARY TABLE posts AS SELECT * FROM posts",
			"CREATE TEMPORARY TABLE posts LIKE posts",
			"CREATE OR REPLACE TEMPORARY TABLE posts SELECT 1 AS id, 1000 AS views, 0 AS likes, 'temporary' AS title",
		},
		"sqlite": {
			"CREATE TEMP TABLE posts AS SELECT * FROM posts",
			"CREATE TABLE temp.posts AS SELECT * FROM posts",
			"CREATE TEMPORARY TABLE IF NOT EXISTS posts AS SELECT 1 AS id, 1000 AS views, 0 AS likes, 'temporary' AS title",
		},
	}
	each(t, func(t *testing.T, dialect string) {
		list := schema(dialect)
		params := ""
		if dialect == "postgres" {
			list = append(
				list,
				"CREATE PROCEDURE shadow() LANGUAGE plpgsql AS 'BEGIN CREATE TEMP TABLE posts AS SELECT 1 AS id, 1000 AS views, 0 AS likes, NULL AS title; END'",
			)
			params = "default_query_exec_mode=exec" // a prepared statement goes on reading the table that it read
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: list, Config: config, Params: params})
		one, other := pinned(t, p), pinned(t, p)
		drops := map[string][]string{"mysql": {"DROP TEMPORARY TABLE posts", "DROP TABLE posts"}, "postgres": {"DROP TABLE posts", "DROP TABLE pg_temp.posts"}, "sqlite": {"DROP TABLE posts", "DROP TABLE temp.posts"}}[dialect]
		for i, query := range makes[dialect] {
			one.script(t, &other, work[0])
			if strings.HasPrefix(query, "EXPLAIN") {
				for _, s := range []twin.Session{one.plain, one.wrapped} {
					if _, err := s.ExecContext(t.Context(), query); err != nil {
						t.Fatal(err)
					}
				}
				query = "SELECT 1"
			}
			one.script(
				t,
				&other,
				query,
				work[0],
				"UPDATE posts SET views = views * 2 WHERE id = 1",
				work[5],
				"UPDATE posts SET views = 7 WHERE id = 2",
			)
			other.script(t, nil, work[0], work[2])
			one.script(t, &other, drops[i%2], work[0], work[2])
		}
	})
}

// A temporary table that has the name of another table, or of a view, has columns of its own: a name that is none
// of them is one of the counter table around it.
func TestTemporaryTableHidesAnother(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := map[string]string{"postgres": "default_query_exec_mode=exec"}[dialect] // as above
		p := twin.New(t, twin.Options{Dialect: dialect, Config: config, Params: params, Schema: append(schema(dialect),
			"CREATE TABLE settings (id int PRIMARY KEY, name varchar(20), views int)", "INSERT INTO settings VALUES (1, 'hot', 7)",
			"CREATE VIEW bounds AS SELECT id, name, views FROM settings")})
		one := pinned(t, p)
		twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 100, 50)")
		twin.ExecAll(t, p.Plain, "UPDATE posts SET views = views + 100, likes = likes + 50 WHERE id = 1")
		var reads []string
		for _, name := range []string{"settings", "bounds"} {
			reads = append(reads,
				"SELECT id, (SELECT views + 0 FROM "+name+" WHERE name = 'hot') FROM posts ORDER BY id",
				"SELECT id FROM posts WHERE views >= (SELECT likes FROM "+name+" WHERE id = 1) ORDER BY id",
				"SELECT id FROM posts WHERE views > 3 AND title IN (SELECT title FROM "+name+" WHERE likes > 3) ORDER BY id",
			)
		}
		one.script(t, nil, reads...)
		drop := map[string]string{
			"mysql": "DROP TEMPORARY TABLE ", "postgres": "DROP TABLE pg_temp.", "sqlite": "DROP TABLE temp.",
		}[dialect]
		for _, name := range []string{"settings", "bounds"} {
			one.script(t, nil, "CREATE TEMPORARY TABLE "+name+" (id int, name varchar(20), likes int)")
			one.script(t, nil, "INSERT INTO "+name+" VALUES (1, 'hot', 90)")
			one.script(t, nil, reads...)
			one.script(t, nil, drop+name)
			one.script(t, nil, reads...)
		}
	})
}

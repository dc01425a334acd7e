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

package lex_test

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

func TestRepeatable(t *testing.T) {
	lexes := map[string]*lex.Rules{"mysql": mysql.New().LexRules(), "postgres": postgres.New().LexRules(), "sqlite": sqlite.New().LexRules()}
	for _, c := range []struct{ sql, why string }{
		{"SELECT views FROM posts WHERE id = 1", ""},
		{"-- c\n(SELECT COUNT(*), coalesce(sum(views), 0) FROM posts WHERE id IN (1, 2)) ;", ""},
		{"WITH x AS (SELECT views FROM posts) SELECT max(views) FROM x WHERE EXISTS (SELECT 1 FROM x)", ""},
		{"SELECT views AS nothing FROM posts WHERE created > NOW() AND seen < CURRENT_TIMESTAMP", ""},
		{"SELECT 'nextval(x)', 'for update' FROM posts", ""},
		{"SELECT nextval('s'), views FROM posts", "sequence"},
		{"SELECT views, NEXT VALUE FOR s FROM posts", "sequence"},
		{"SELECT pg_advisory_lock(views) FROM posts", "pg_advisory_lock"},
		{"SELECT GET_LOCK('x', 1), views FROM posts", "GET_LOCK"},
		{"SELECT pg_catalog.nextval('s') FROM posts", "sequence"},
		{"SELECT RAND() * views FROM posts", "RAND"},
		{"SELECT random() FROM posts", "random"},
		{"SELECT FOUND_ROWS() FROM posts", "FOUND_ROWS"},
		{"SELECT LAST_INSERT_ID(views) FROM posts", "LAST_INSERT_ID"},
		{"SELECT last_insert_rowid() FROM posts", "last_insert_rowid"},
		{`SELECT "my_f"(views) FROM posts`, "side effects"},
		{"SELECT my_f (views) FROM posts", "my_f"},
		{"SELECT my_f /* c */ (views) FROM posts", "my_f"},
		{"SELECT ROW_NUMBER() OVER (ORDER BY views) FROM posts", "ROW_NUMBER"},
		{"SELECT views FROM posts FOR UPDATE", "locks"},
		{"SELECT views FROM posts FOR SHARE", "locks"},
		{"SELECT views FROM posts FOR NO KEY UPDATE", "locks"},
		{"SELECT views FROM posts LOCK IN SHARE MODE", "locks"},
		{"SELECT views INTO other FROM posts", "somewhere"},
		{"WITH x AS (DELETE FROM log RETURNING id) SELECT views FROM posts", "writes"},
		{"UPDATE posts SET views = 1", "not a query"},
		{"EXPLAIN SELECT views FROM posts", "not a query"},
		{"CALL p()", "not a query"},
		{"", "not a query"},
		{"SELECT 1; SELECT views FROM posts", "several"},
		{"SELECT 'views", "unterminated"},
	} {
		for name, lx := range lexes {
			if got := lex.Repeatable(lx, c.sql); (got.Why == "") != (c.why == "") || !strings.Contains(got.Why, c.why) {
				if strings.HasPrefix(c.sql, `SELECT "my_f"`) && name == "mysql" {
					continue // a string there
				}
				t.Errorf("%s: %s: %q, want %q", name, c.sql, got.Why, c.why)
			}
		}
	}
	for sql, why := range map[string]string{
		"SELECT @x := views FROM posts":             "variable",
		"SELECT @@last_insert_id, views FROM posts": "variable",
		"SELECT views /*! FOR UPDATE */ FROM posts": "executable",
		"SELECT `my_f`(views) FROM posts":           "my_f",
	} {
		if got := lex.Repeatable(lexes["mysql"], sql); !strings.Contains(got.Why, why) {
			t.Errorf("%s: %q, want %q", sql, got.Why, why)
		}
	}
	for sql, want := range map[string][2]bool{
		"SELECT views FROM posts":                                               {false, false},
		"SELECT views FROM posts ORDER BY id":                                   {true, false},
		"SELECT views FROM posts ORDER BY id LIMIT 3":                           {true, true},
		"SELECT RANK() OVER (ORDER BY views) FROM posts":                        {false, false},
		"SELECT views FROM (SELECT views FROM posts ORDER BY id OFFSET 2) AS x": {false, true},
		"SELECT DISTINCT ON (title) views FROM posts":                           {false, true},
		"SELECT views FROM posts ORDER BY id FETCH FIRST 3 ROWS ONLY":           {true, true},
	} {
		if got := lex.Repeatable(lexes["postgres"], sql); got.Why != "" || got.Ordered != want[0] || got.Limited != want[1] {
			t.Errorf("%s: %+v, want %v", sql, got, want)
		}
	}
}

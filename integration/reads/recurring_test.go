package reads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A read of one row by a literal has the values and types of a statement sent as text, however often it recurs on a connection and whatever
// the columns are.
func TestReadThatRecurs(t *testing.T) {
	for name, params := range map[string]string{"mysql": "", "mysql with times": "parseTime=true", "mysql interpolated": "interpolateParams=true", "sqlite": "", "postgres": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect, _, _ := strings.Cut(name, " ")
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Params:  params,
				Schema:  recurringSchema(dialect),
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}, ratios: {counters: {views: {}}, slots: 4}}\n",
			})
			p.Wrapped.SetMaxOpenConns(1)
			recur := func(form string) {
				t.Helper()
				for i := range 40 {
					p.Same(t, twin.Statement{SQL: fmt.Sprintf(form, i%4+1)})
				}
			}
			for _, form := range []string{
				"SELECT * FROM posts WHERE id = %d",
				"SELECT views, title FROM posts WHERE id = %d AND kind = 7 LIMIT 1",
				"SELECT views FROM posts WHERE kind IS NOT NULL AND id = %d",
				"SELECT views FROM posts WHERE id = %d /* from the list of posts */",
				"SELECT views FROM posts WHERE id = %d AND title <> 'none'",
				"SELECT views, ratio FROM ratios WHERE id = %d",
				"SELECT views + 1 FROM posts WHERE id = %d",
				"SELECT views FROM posts WHERE id = %d AND kind > 3 ORDER BY id LIMIT 2",
			} {
				recur(form)
			}
			// A row that has slots by now, and columns that the table did not have.
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
			recur("SELECT * FROM posts WHERE id = %d")
			p.Same(t, twin.Statement{SQL: "ALTER TABLE posts ADD COLUMN more INT"})
			recur("SELECT * FROM posts WHERE id = %d")
			p.Same(t, twin.Statement{SQL: "DELETE FROM posts WHERE id = 2"})
			recur("SELECT views, title FROM posts WHERE id = %d AND kind = 7 LIMIT 1")
		})
	}
}

func recurringSchema(dialect string) []string {
	columns, values := "", ""
	if dialect == "mysql" {
		columns = ", u BIGINT UNSIGNED, tiny TINYINT, small SMALLINT UNSIGNED, d DECIMAL(10,3), b BIT(9), y YEAR, day DATE, at DATETIME(3), " +
			"stamp TIMESTAMP NULL, t TIME(2), e ENUM('a', 'b'), s SET('a', 'b'), j JSON, raw VARBINARY(9), txt TEXT, bl BLOB"
		values = ", 18446744073709551615, -3, 65535, -1.500, b'101', 2026, '2026-11-28', '2026-11-28 01:02:03.450', " +
			"'2026-11-28 01:02:03', '-30:01:02.5', 'b', 'a,b', '{\"a\": 1}', x'00ff', 'long', x'80'"
	}
	schema := []string{"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, title VARCHAR(20), kind INTEGER" + columns + ")"}
	for id := range 3 {
		schema = append(schema, fmt.Sprintf("INSERT INTO posts VALUES (%d, %d, 'it''s', 7%s)", id+1, id, values))
	}
	return append(schema, "CREATE TABLE ratios (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, ratio FLOAT)",
		"INSERT INTO ratios VALUES (1, 0, 16777217), (2, 0, 0.1)")
}

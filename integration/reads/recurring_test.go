package reads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A read of one row by a literal that recurs on a connection is sent prepared on MySQL. Its values and their types are
// those of a statement sent as text, whatever the columns are; a statement with a comment reaches the server as it is.
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
			executed := func() string {
				if dialect != "mysql" {
					return ""
				}
				return twin.Rows(t, p.Wrapped, "SHOW SESSION STATUS LIKE 'Com_stmt_execute'")
			}
			recur := func(form string) (prepared bool) {
				t.Helper()
				before := executed()
				for i := range 40 {
					p.Same(t, twin.Statement{SQL: fmt.Sprintf(form, i%4+1)})
				}
				return executed() != before
			}
			prepares := dialect == "mysql" && !strings.Contains(name, "interpolated")
			for form, want := range map[string]bool{
				"SELECT * FROM posts WHERE id = %d":                                      prepares,
				"SELECT views, title FROM posts WHERE id = %d AND kind = 7 LIMIT 1":      prepares,
				"SELECT views FROM posts WHERE kind IS NOT NULL AND id = %d":             prepares,
				"SELECT views FROM posts WHERE id = %d /* from the list of posts */":     false,
				"SELECT views FROM posts WHERE id = %d AND title <> 'none'":              false,
				"SELECT views, ratio FROM ratios WHERE id = %d":                          false,
				"SELECT views + 1 FROM posts WHERE id = %d":                              false,
				"SELECT views FROM posts WHERE id = %d AND kind > 3 ORDER BY id LIMIT 2": false,
			} {
				if got := recur(form); got != want {
					t.Errorf("%s: prepared: %v, want %v", form, got, want)
				}
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

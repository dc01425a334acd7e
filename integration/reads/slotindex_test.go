package reads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A total finds its slots by their key, however few the slot table seems to have. MariaDB would
// read the whole table for each row of the query otherwise. To a query that takes long, that table
// still has all the slot rows that roll-ups have deleted since it began. The keys of all slots it may read
// once, as a list of the rows that have some.
func TestTotalFindsSlotsByKey(t *testing.T) {
	t.Parallel()
	for _, columns := range []string{"id, views", "id, views, seen"} {
		p := twin.New(t, twin.Options{
			Dialect: "mysql",
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, seen DATETIME)",
				"INSERT INTO posts (id) SELECT a.n + 10 * b.n FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) a, (SELECT 1 AS n UNION SELECT 2) b",
			},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, companions: {seen: latest}}}\n",
		})
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		twin.ExecAll(t, p.Under, "ANALYZE TABLE posts_slots")
		e, err := slotsql.Explain(t.Context(), p.Wrapped, "SELECT "+columns+" FROM posts")
		if err != nil {
			t.Fatal(err)
		}
		explain := "EXPLAIN "
		if server.MySQLVersion(t).MySQL {
			explain = "EXPLAIN FORMAT=TRADITIONAL " // 9.7 has another one by default
		}
		rows, err := p.Under.QueryContext(t.Context(), explain+e.Rewritten.SQL)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		access := slices.Index(names, "type") // MySQL has partitions before it
		found := 0
		for rows.Next() {
			cells := make([]any, len(names))
			for i := range cells {
				cells[i] = new(any)
			}
			if err := rows.Scan(cells...); err != nil {
				t.Fatal(err)
			}
			var line []string
			for _, c := range cells {
				line = append(line, fmt.Sprintf("%s", *c.(*any)))
			}
			if strings.HasPrefix(line[2], "slotsql_s") && line[1] != "MATERIALIZED" {
				found++
				if !slices.Contains([]string{"ref", "eq_ref", "index_subquery"}, line[access]) {
					t.Errorf("slots are found by %q: %s", line[access], strings.Join(line, " | "))
				}
			}
		}
		if rows.Err() != nil || found == 0 {
			t.Errorf("%d look-ups of slots, error %v", found, rows.Err())
		}
	}
}

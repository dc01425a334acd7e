package reads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// SQLite may lose rows of a query in FROM that it finds by an OR of two indexes, where the query around
// it names a counter's total twice (rewrite.MergedOr). So there the keys of all candidates are one list.
func TestCandidatesOfQueryInFrom(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"dedicated", "shared", "journal"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			var rows []string
			for i := range 150 {
				rows = append(rows, fmt.Sprintf("(%d, %d, %d, %d)", i+1, i*7%20, i%13, i%11))
			}
			counter := ""
			if layout == "shared" {
				counter = "record_type: 1"
			}
			p := twin.New(t, twin.Options{
				Dialect: "sqlite",
				Schema: []string{
					"CREATE TABLE pages (id INTEGER PRIMARY KEY, hits INTEGER, author INT NOT NULL, kind INT NOT NULL)",
					"CREATE INDEX pages_hits ON pages (hits)",
					"CREATE INDEX pages_author ON pages (author, hits)",
					"CREATE INDEX pages_kind ON pages (kind, hits)",
					"INSERT INTO pages VALUES " + strings.Join(rows, ", "),
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: connection}\n" +
					"tables: {pages: {layout: " + layout + ", counters: {hits: {" + counter + "}}}}\n",
			})
			for i := 1; i <= 150; i += 3 {
				q := fmt.Sprintf("UPDATE pages SET hits = hits + %d WHERE id = %d", 1+i%9, i)
				twin.ExecAll(t, p.Plain, q)
				twin.ExecAll(t, p.Wrapped, q)
			}
			for _, q := range []string{
				"SELECT * FROM (SELECT hits FROM pages) WHERE (hits OR (hits)) AND hits >= 2",
				"SELECT * FROM (SELECT hits, id, hits + 1 AS more FROM pages) AS d WHERE (hits > 3 OR (hits = 2 AND id > 4)) AND hits >= 2",
				"WITH d AS (SELECT hits, id FROM pages) SELECT COUNT(*), SUM(id) FROM d WHERE (hits > 3 OR hits = 2) AND hits >= 2",
				"SELECT * FROM (SELECT hits FROM pages WHERE author = 3 OR kind = 4) WHERE hits > 3 AND hits <> 9",
				"SELECT * FROM (SELECT hits, author FROM pages WHERE author = 3 OR kind = 4) WHERE (hits > 3 OR hits = 2) AND hits >= 2",
				"SELECT * FROM (SELECT id, hits FROM pages WHERE author = 3 OR id < 40) WHERE (hits OR hits) AND hits <> 5",
				"SELECT * FROM (SELECT hits FROM pages WHERE author = 3 OR kind = 4) WHERE hits % 5 > 1 AND (hits % 7 > 1 OR hits % 3 = 1)",
				"SELECT * FROM (SELECT hits FROM pages WHERE author = 3 OR id = 12 OR id = 17) WHERE (hits % 5 > 1 OR hits) AND hits % 7 > 0",
				"SELECT hits FROM pages WHERE (author = 3 OR kind = 4) AND hits > 3 AND hits <> 9",
				"SELECT hits FROM pages WHERE (author = 3 OR kind = 4) AND (hits + hits > 6 OR hits = 2)",
				"SELECT id, hits FROM pages WHERE (hits > 3 OR hits = 2) AND hits >= 2",
				"SELECT hits FROM pages WHERE hits > 3 OR author = 5",
				"SELECT COUNT(*), SUM(hits) FROM pages WHERE (author = 3 OR kind = 4) AND hits > 3",
				"SELECT p.hits FROM pages p JOIN pages q ON q.id = p.kind WHERE (p.author = 3 OR p.kind = 4) AND p.hits > 3 AND q.hits > p.hits - 50",
			} {
				p.Same(t, twin.Statement{SQL: q})
			}
		})
	}
}

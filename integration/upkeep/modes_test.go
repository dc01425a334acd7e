package upkeep

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// A recount is checked and audited alike whatever the table's mode, before
// there is a slot table and after.
func TestRecountInEveryMode(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		config := func(mode, recount string) string {
			return "version: 1\ntables:\n  posts:\n    mode: " + mode + "\n    counters:\n      views: {recount: \"" + recount + "\"}\n  tags: {counters: {uses: {}}, mode: " + mode + "}\n"
		}
		const right = "SELECT post AS id, COUNT(*) AS views FROM hits GROUP BY post"
		for _, mode := range []string{"shadow", "off", "passive", "on"} {
			p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Config: config("on", right), Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 2)",
				"CREATE TABLE tags (id INT PRIMARY KEY, uses INT NOT NULL)", "INSERT INTO tags VALUES (1, 2)",
				"CREATE TABLE hits (post INT NOT NULL)", "INSERT INTO hits VALUES (1), (1)",
			}})
			connector := func(recount string) *slotsql.Connector {
				c, err := slotsql.Parse([]byte(golden.WithSlots(config(mode, recount))), "slotsql.yaml")
				if err != nil {
					t.Fatal(err)
				}
				return twin.ConnectorWith(t, p, c)
			}
			const locks = "SELECT id, uses AS views FROM tags FOR UPDATE" // cannot be read beside others
			for _, migrated := range []bool{false, true} {
				if migrated {
					if _, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil {
						t.Fatal(err)
					}
				} else if mode == "on" || mode == "passive" {
					continue // the slot table is what is missed then
				}
				if _, err := slotsql.Check(t.Context(), connector(right)); err != nil {
					t.Errorf("check with mode %s, migrated %v: %v", mode, migrated, err)
				}
				_, err := slotsql.Check(t.Context(), connector(locks))
				if err == nil || strings.HasSuffix(err.Error(), ": ") {
					t.Errorf("check of a query that locks, with mode %s, migrated %v: %v", mode, migrated, err)
				}
			}
			reports, err := slotsql.Verify(t.Context(), connector(right), slotsql.VerifyOptions{})
			if err != nil || len(reports) != 2 || len(reports[0].Findings) > 0 || len(reports[0].Recounted) != 1 {
				t.Errorf("verify with mode %s: %+v, %v", mode, reports, err)
			}
		}
	})
}

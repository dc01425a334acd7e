package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A view that calls a configured routine shows totals, as does one over that view.
func TestViewCallsRoutine(t *testing.T) {
	t.Parallel()
	for dialect, schema := range map[string][]string{
		"mysql": dynamicSchema,
		"postgres": {
			dynamicSchema[0], dynamicSchema[1], "CREATE SCHEMA apart",
			"CREATE FUNCTION apart.views_of(k int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT views FROM posts WHERE id = k); END'",
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			call, routine := "views_of(1)", "views_of"
			if dialect == "postgres" {
				call, routine = "apart.views_of(1)", "apart.views_of"
			}
			p := twin.New(t, twin.Options{
				Dialect: dialect, Schema: append(schema, "CREATE VIEW best AS SELECT "+call+" AS views", "CREATE VIEW over_best AS SELECT views FROM best"),
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {routines: [" + routine + "], placement: random, slots: 8, counters: {views: {}}}}",
			})
			for _, query := range []string{"SELECT * FROM best", "SELECT views FROM over_best"} {
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				p.Same(t, twin.Statement{SQL: query})
			}
			final(t, p)
		})
	}
}

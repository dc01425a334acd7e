package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A session's search path names a schema that another session creates later, with a table that stands
// before the counter table from then on, and drops again.
func TestSchemaCreatedInSearchPath(t *testing.T) {
	const create = "CREATE TABLE later.posts (id int PRIMARY KEY, views int NOT NULL, likes int, title text)"
	for name, home := range map[string]string{"set": "", "home": "&search_path=later,public"} {
		for placement, config := range map[string]string{"adaptive": config, "always": always} {
			t.Run(name+"/"+placement, func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: config, Params: unprepared["postgres"] + home})
				one, other := pinned(t, p), pinned(t, p)
				both := func(b, with both, statements ...string) {
					t.Helper()
					b.script(t, &with, statements...)
				}
				both(one, other, work[0], "SET search_path = later, public", work[0], work[2], work[0])
				both(other, one, work[0], "CREATE SCHEMA later")
				both(one, other, work[0], work[2])
				both(other, one, create, "INSERT INTO later.posts VALUES (1, 100, 1, 'one'), (2, 200, 2, 'two')")
				both(one, other, work[0], work[2], work[0], work[3], "DELETE FROM posts WHERE id = 2", work[1])
				both(other, one, work[0], work[2], "ALTER SCHEMA later RENAME TO elsewhere")
				both(one, other, work[0], work[2], work[0])
				both(other, one, "ALTER SCHEMA elsewhere RENAME TO later", work[0])
				both(one, other, work[0], work[2], work[0])
				both(other, one, "DROP SCHEMA later CASCADE", work[0])
				both(one, other, work[0], work[2], work[0])
			})
		}
	}
}

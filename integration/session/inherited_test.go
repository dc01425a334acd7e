package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Another client has a table inherit from a counter table whose slots hold something.
// Its keys do not tell rows apart any more: statements on it are refused and say why,
// others run, and so does the DDL that cures it. Nothing is lost meanwhile.
func TestInheritedByAnother(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]string{"detached": "ALTER TABLE child NO INHERIT posts", "dropped": "DROP TABLE child"} {
		t.Run(name, func(t *testing.T) {
			p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: always, Params: unprepared["postgres"]})
			const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
			p.Same(t, twin.Statement{SQL: add})
			execBoth(t, p, []string{"CREATE TABLE child () INHERITS (posts)", "INSERT INTO child (id) VALUES (1)"})
			notice(t, p)
			for _, query := range []string{add, "SELECT views FROM posts WHERE id = 1", "UPDATE posts SET views = 3 WHERE id = 1", "DELETE FROM posts"} {
				var refused *slotsql.UnsupportedError
				if _, err := p.Wrapped.ExecContext(t.Context(), query); !errors.As(err, &refused) || !strings.Contains(err.Error(), "inherit") {
					t.Errorf("%s: %v", query, err)
				}
			}
			p.Same(t, twin.Statement{SQL: "INSERT INTO log VALUES (1, 'x')"})
			p.Same(t, twin.Statement{SQL: "SELECT views FROM child"})
			p.Same(t, twin.Statement{SQL: cure})
			for range 2 {
				p.Same(t, twin.Statement{SQL: add})
				p.Same(t, twin.Statement{SQL: "SELECT views FROM posts WHERE id = 1"})
			}
			final(t, p)
		})
	}
}

package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Slots by a numeric key cannot go by one that becomes text: from then on the table is used
// as with the plain driver.
func TestKeyBecomesText(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Params: unprepared["postgres"],
		Config: strings.Replace(always, "slots: 8", "slots: 8, foreign_keys: false", 1)})
	s := pinned(t, p)
	for _, query := range []string{
		work[0], "ALTER TABLE posts ALTER COLUMN id TYPE text", totals, "UPDATE posts SET views = views + 1 WHERE id = '1'", totals,
		"UPDATE posts SET views = 7 WHERE id = '1'", "DELETE FROM posts WHERE id = '2'", totals,
	} {
		s.same(t, twin.Statement{SQL: query})
	}
	final(t, p)
}

// What SET UNLOGGED takes, see docs/divergences.md.
func TestSetUnlogged(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: always, Params: unprepared["postgres"]})
	execAll(t, p.Wrapped, work[0], "ALTER TABLE posts_slots SET UNLOGGED", "ALTER TABLE posts SET UNLOGGED")
	execAll(t, p.Plain, work[0], "ALTER TABLE posts SET UNLOGGED")
	p.Same(t, twin.Statement{SQL: work[0]})
	p.Same(t, twin.Statement{SQL: totals})
	final(t, p)
}

// A table whose only unique keys fix no row is refused, and the error names them.
func TestKeyDoesNotServe(t *testing.T) {
	t.Parallel()
	for dialect, create := range map[string]string{
		"postgres": "CREATE TABLE posts (id INT PRIMARY KEY DEFERRABLE, views INT NOT NULL)",
		"mysql":    "CREATE TABLE posts (id VARCHAR(20) NOT NULL, views INT NOT NULL, PRIMARY KEY (id(3)))",
	} {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{create}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
		name := map[string]string{"postgres": `"posts_pkey" [id]`, "mysql": `"PRIMARY" [id]`}[dialect]
		var ce *slotsql.ConfigError
		if err := p.Wrapped.PingContext(t.Context()); !errors.As(err, &ce) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}

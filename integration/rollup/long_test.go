package rollup

import (
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A journal with many rows of one key is moved, in batches, well within the time that
// one may take.
func TestLongJournalMoves(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql",
		Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0)"},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, layout: journal}}\n"})
	if err := p.Wrapped.Ping(); err != nil {
		t.Fatal(err)
	}
	execAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views) SELECT 1, 65536 + 2 * seq, 1 FROM "+server.Series(40000))
	if _, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, p.Under, "SELECT views, (SELECT COUNT(*) FROM posts_slots) FROM posts"); got != "40000 0" {
		t.Errorf("base value and slot rows: %s", got)
	}
}

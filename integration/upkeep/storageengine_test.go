package upkeep

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A table whose storage engine does not roll back is refused, by check and at connect,
// with what to do; and no longer slotted when it becomes one.
func TestTablesWithoutTransactions(t *testing.T) {
	for _, engine := range []string{"MyISAM", "Aria", "MEMORY"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "mysql", Params: patience["mysql"],
				Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0)"},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, foreign_keys: false}}\n"})
			twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
			if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
				t.Fatal(err)
			}
			twin.ExecAll(t, p.Under, "ALTER TABLE posts ENGINE="+engine)
			if _, err := slotsql.Check(t.Context(), twin.Connector(t, p)); err == nil || !strings.Contains(err.Error(), engine) {
				t.Errorf("check: %v", err)
			}
			other := sql.OpenDB(twin.Connector(t, p))
			defer other.Close()
			if err := other.Ping(); err == nil || !strings.Contains(err.Error(), "ENGINE=InnoDB") {
				t.Errorf("connect: %v", err)
			}
		})
	}
}

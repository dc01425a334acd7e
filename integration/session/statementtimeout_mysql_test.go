package session

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// With any limit on the application's statements, slotsql's own queries are sent without it.
func TestStatementTimeLimitOnMySQL(t *testing.T) {
	t.Parallel()
	p := newPair(t, "mysql", "")
	limit, query := "max_statement_time=0.05", "SELECT @@max_statement_time + 0 = 0.05"
	if server.MySQLVersion(t).MySQL {
		limit, query = "max_execution_time=50", "SELECT @@max_execution_time = 50"
	}
	// So many views that reading their definitions takes longer than that.
	for i := range 500 {
		execAll(t, p.Under, fmt.Sprintf("CREATE VIEW v%d AS SELECT a.* FROM posts AS a, posts AS b, posts AS c WHERE a.id = %d", i, i))
	}
	db, err := twin.OpenWrapped("mysql", p.WrappedDSN+"?"+limit, p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	on := twin.Conn(t, db)
	twin.ExecAll(t, on, "ALTER TABLE posts ADD COLUMN more INT", "UPDATE posts SET views = 1 WHERE id = 1")
	if err := twin.Notice(t.Context(), db); err != nil {
		t.Error(err)
	}
	if got := twin.Rows(t, on, query); got != "1" {
		t.Errorf("the session's limit has changed")
	}
}

package session

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// The statements that slotsql keeps prepared take no room that others need: where the server has
// none left, they are closed, and no statement fails.
func TestPreparedStatementsLeaveRoom(t *testing.T) {
	t.Parallel()
	dsn, admin := mariaDB(t)
	twin.ExecAll(t, admin, "CREATE DATABASE one", "SET GLOBAL max_prepared_stmt_count = 12")
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	at := dsn[:strings.LastIndex(dsn, "/")+1]
	under, err := sql.Open("mysql", at+"one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = under.Close() })
	twin.ExecAll(t, under, schema("mysql")...)
	db, err := twin.OpenWrapped("mysql", at+"one", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for i := range 4 {
		on := twin.Conn(t, db) // all are kept open
		for j := range 8 {
			if _, err := on.ExecContext(t.Context(), fmt.Sprintf("UPDATE posts SET views = views + ? WHERE id = ? AND id < %d", 100+j), 1, 1); err != nil {
				t.Fatalf("connection %d, statement %d: %v", i, j, err)
			}
		}
	}
	for i := range 11 { // as much room as a server has that nothing is prepared on
		st, err := under.PrepareContext(t.Context(), fmt.Sprintf("SELECT %d", i))
		if err != nil {
			t.Fatalf("statement %d of another program: %v", i, err)
		}
		if i > 3 {
			_ = st.Close()
			continue
		}
		defer st.Close()
	}
	if got := twin.Rows(t, db, "SELECT views FROM posts WHERE id = 1"); got != "42" {
		t.Errorf("total %s, want 42", got)
	}
}

package session

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A MySQL server with read_only answers through views as with the plain driver while
// no increment is in a slot, and refuses writes as plain.
func TestReadOnlyServer(t *testing.T) {
	dsn, admin := mariaDB(t)
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(
		path,
		[]byte("version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, placement: random, counters: {views: {}}}}"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	twin.ExecAll(
		t,
		admin,
		"CREATE DATABASE one",
		"CREATE DATABASE two",
		"CREATE USER app@localhost IDENTIFIED BY 'app'",
		"GRANT ALL ON one.* TO app@localhost",
		"GRANT ALL ON two.* TO app@localhost",
	)
	at := dsn[strings.Index(dsn, "@"):]
	at = at[:strings.LastIndex(at, "/")+1]
	p := &twin.Pair{Dialect: "mysql"}
	for _, open := range []struct {
		db   **sql.DB
		dsn  string
		with twin.Opener
	}{{&p.Plain, "one", twin.OpenPlain}, {&p.Under, "two", twin.OpenPlain}, {&p.Wrapped, "two", twin.OpenWrapped}} {
		db, err := open.with("mysql", "app:app"+at+open.dsn, path)
		if err != nil {
			t.Fatal(err)
		}
		*open.db = db
		t.Cleanup(func() { _ = db.Close() })
	}
	for _, db := range []*sql.DB{p.Plain, p.Under} {
		twin.ExecAll(t, db, readOnlySchema("mysql")...)
	}
	countIn(t, p)
	filled(t, p)
	twin.ExecAll(t, admin, "SET GLOBAL read_only = 1")
	p.Same(t, twin.Statement{SQL: "SELECT id, views FROM posts ORDER BY id"})
	out := twin.Run(t.Context(), p.Wrapped, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"})
	if out.Err == nil || !strings.Contains(out.Err.Error(), "select from the table itself") ||
		!strings.HasPrefix(twin.Class(out.Err), "MySQL 1290") {
		t.Errorf("a view with slots: %v", out.Err)
	}
	twin.ExecAll(t, admin, "SET GLOBAL read_only = 0")
	p.Same(t, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"}) // folds
	twin.ExecAll(t, admin, "SET GLOBAL read_only = 1")
	for _, begin := range []string{"", "BEGIN", "START TRANSACTION READ ONLY"} {
		one := pinned(t, p)
		if begin != "" {
			one.same(t, twin.Statement{SQL: begin})
		}
		for _, query := range []string{
			"SELECT id, views FROM ranked ORDER BY id", "SELECT views FROM best", "SELECT views FROM posts ORDER BY id",
			"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = 7 WHERE id = 1", "DELETE FROM posts WHERE id = 1",
		} {
			if strings.HasPrefix(begin, "START") && !strings.HasPrefix(query, "SELECT") {
				continue // two reasons to refuse it, and either may be given
			}
			one.same(t, twin.Statement{SQL: query})
		}
		if begin != "" {
			one.same(t, twin.Statement{SQL: "ROLLBACK"})
		}
	}
}

// mariaDB starts a server for the test alone, whose settings it may change.
func mariaDB(t *testing.T) (dsn string, admin *sql.DB) {
	t.Helper()
	twin.Serves(t, "mysql")
	in, err := server.StartMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Stop)
	if admin, err = sql.Open("mysql", in.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return in.DSN, admin
}

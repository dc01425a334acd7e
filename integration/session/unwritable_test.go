package session

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Where nothing may be written, and a slot table is missing that auto_migrate would create, all
// statements run as with the plain driver, the lease of slots included. Once it may be written, or
// another process has created the slot table, the counters are in slots.
func TestUnwritable(t *testing.T) {
	statements := []string{
		"SELECT 1", "SELECT id, views FROM posts ORDER BY id", "UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1", "SELECT MAX(views) FROM posts",
	}
	check := func(t *testing.T, p *twin.Pair) {
		t.Helper()
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatalf("ping: %v", err)
		}
		s := pinned(t, p)
		for _, q := range statements {
			s.same(t, twin.Statement{SQL: q})
		}
	}
	for dialect, params := range map[string]string{"sqlite": "&mode=ro", "postgres": "&default_transaction_read_only=on"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, dialect, "")
			p.PlainDSN, p.WrappedDSN = p.PlainDSN+params, p.WrappedDSN+params
			check(t, openedAgain(t, p))
		})
	}
	for name, params := range map[string]string{"mysql": "", "mysql with rejectReadOnly": "?rejectReadOnly=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, admin := mariaDB(t)
			twin.ExecAll(t, admin, "CREATE DATABASE one", "CREATE DATABASE two", "CREATE USER app@localhost IDENTIFIED BY 'app'",
				"GRANT ALL ON one.* TO app@localhost", "GRANT ALL ON two.* TO app@localhost")
			p := &twin.Pair{Dialect: "mysql", ConfigPath: filepath.Join(t.TempDir(), "slotsql.yaml")}
			if err := os.WriteFile(p.ConfigPath, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			at := dsn[strings.Index(dsn, "@"):]
			at = "app:app" + at[:strings.LastIndex(at, "/")+1]
			p.PlainDSN, p.WrappedDSN = at+"one"+params, at+"two"+params
			p = openedAgain(t, p)
			for _, db := range []*sql.DB{p.Plain, p.Under} {
				twin.ExecAll(t, db, schema("mysql")...)
			}
			twin.ExecAll(t, admin, "SET GLOBAL read_only = 1")
			check(t, p)
			twin.ExecAll(t, admin, "SET GLOBAL read_only = 0")
			check(t, p)
		})
	}
}

// openedAgain opens the sides of a pair with its data sources as they are now.
func openedAgain(t *testing.T, p *twin.Pair) *twin.Pair {
	t.Helper()
	out, driver := *p, twin.Plain[p.Dialect]
	for _, open := range []struct {
		db   **sql.DB
		dsn  string
		with twin.Opener
	}{{&out.Plain, p.PlainDSN, twin.OpenPlain}, {&out.Under, p.WrappedDSN, twin.OpenPlain}, {&out.Wrapped, p.WrappedDSN, twin.OpenWrapped}} {
		db, err := open.with(driver, open.dsn, p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		*open.db = db
		t.Cleanup(func() { _ = db.Close() })
	}
	return &out
}

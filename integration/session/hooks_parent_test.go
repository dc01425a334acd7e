package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// turning is an application's own connector, which gives each session it opens or gives out the
// database of its context's tenant.
type turning struct {
	driver.Connector
	move func(ctx context.Context, c driver.ExecerContext) error
}

func (t turning) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := t.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.move(ctx, c.(driver.ExecerContext)); err != nil {
		_ = c.Close()
		return nil, err
	}
	return turned{c.(parentConn), t.move}, nil
}

type parentConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnBeginTx
	driver.ConnPrepareContext
}

type turned struct {
	parentConn
	move func(ctx context.Context, c driver.ExecerContext) error
}

func (t turned) Unwrap() driver.Conn { return t.parentConn }

func (t turned) CheckNamedValue(v *driver.NamedValue) error {
	if c, ok := t.parentConn.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (t turned) ResetSession(ctx context.Context) error { return t.move(ctx, t.parentConn) }

// otherTenants returns a database in which two tenants have tables of the same names, through slotsql.
func otherTenants(t *testing.T, engine, options string) *sql.DB {
	t.Helper()
	var dsn string
	var d dialect.Dialect
	var make []string // for one tenant
	var to func(tenant string) []string
	switch engine {
	case "mysql":
		dsn, d = server.MariaDB(t), twin.Wrapping["mysql"]
		_, name, _ := strings.Cut(dsn, ")/")
		name, _, _ = strings.Cut(name, "?")
		to = func(tenant string) []string { return []string{"USE " + name + "_" + tenant} }
		make = []string{"CREATE DATABASE " + name + "_%", "USE " + name + "_%"}
	case "sqlite":
		dsn, d = server.SQLite(t), twin.Wrapping["sqlite"]
		dir := t.TempDir()
		to = func(tenant string) []string {
			return []string{"DETACH tenant", "ATTACH '" + filepath.Join(dir, tenant+".db") + "' AS tenant"}
		}
		make = []string{"ATTACH '" + filepath.Join(dir, "%.db") + "' AS tenant", "PRAGMA tenant.journal_mode = WAL"}
	}
	plain, err := sql.Open(twin.Plain[engine], dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, tenant := range []string{"t1", "t2"} {
		c, err := plain.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		table := "posts"
		if engine == "sqlite" {
			table = "tenant.posts"
		}
		for _, q := range append(make, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, views INTEGER NOT NULL)",
			"INSERT INTO posts VALUES (1, 0), (2, 0)") {
			q = strings.ReplaceAll(q, "%", tenant)
			if _, err := c.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%v\n%s", err, q)
			}
			if name, ok := strings.CutPrefix(q, "CREATE DATABASE "); ok {
				t.Cleanup(func() { // by a connection of its own: the others are closed by then
					db, err := sql.Open(twin.Plain[engine], dsn)
					if err == nil {
						_, _ = db.ExecContext(context.Background(), "DROP DATABASE "+name)
						_ = db.Close()
					}
				})
			}
		}
		if engine == "sqlite" {
			if _, err := c.ExecContext(t.Context(), "DETACH tenant"); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
	}
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, "+options+"}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	move := func(ctx context.Context, c driver.ExecerContext) error {
		tenant, _ := ctx.Value(tenantKey{}).(string)
		if tenant == "" {
			tenant = "t1"
		}
		for _, q := range to(tenant) {
			if _, err := c.ExecContext(ctx, q, nil); err != nil && !strings.HasPrefix(q, "DETACH") {
				return fmt.Errorf("%w: %s", err, q)
			}
		}
		return nil
	}
	db, err := slotsql.OpenDB(turning{dsnConnector{plain.Driver(), dsn}, move}, d, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestTenantsBySearchPath for other engines: USE and ATTACH, in a connector of the application's own.
func TestTenantsByOwnConnector(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"mysql", "sqlite"} {
		for name, options := range tenantOptions {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				db := otherTenants(t, engine, options)
				count := countByTurns(t, db, 50)
				one, two := ofTenant(t.Context(), "t1"), ofTenant(t.Context(), "t2")
				for _, ctx := range []context.Context{one, two} {
					wantViews(t, ctx, db, count)
					if err := affected(db.ExecContext(ctx, "UPDATE posts SET views = 5 WHERE id = 1")); err != nil {
						t.Error(err)
					}
				}
				for _, ctx := range []context.Context{two, one} {
					wantViews(t, ctx, db, 5)
				}
			})
		}
	}
}

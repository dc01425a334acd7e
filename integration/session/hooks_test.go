package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/postgres"
)

// tenantKey is the key under which a context has the schema of its tenant.
type tenantKey struct{}

func ofTenant(ctx context.Context, schema string) context.Context {
	return context.WithValue(ctx, tenantKey{}, schema)
}

// setPath gives a session the search path of its context's tenant.
func setPath(ctx context.Context, c *pgx.Conn) error {
	schema, _ := ctx.Value(tenantKey{}).(string)
	if schema == "" {
		schema = "t1"
	}
	_, err := c.Exec(ctx, "SET search_path = "+schema)
	return err
}

// tenantConnectors are the ways in which a program may give each tenant its schema.
var tenantConnectors = map[string]func(t *testing.T, dsn string) driver.Connector{
	"reset": func(t *testing.T, dsn string) driver.Connector {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return stdlib.GetConnector(*cfg, stdlib.OptionAfterConnect(setPath), stdlib.OptionResetSession(setPath))
	},
	"pool": func(t *testing.T, dsn string) driver.Connector {
		cfg, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.PrepareConn = func(ctx context.Context, c *pgx.Conn) (bool, error) { return true, setPath(ctx, c) }
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return stdlib.GetPoolConnector(pool)
	},
}

var tenantOptions = map[string]string{
	"slots 0":    "slots: 0",
	"adaptive":   "slots: 8",
	"connection": "slots: 8, placement: connection",
	"alone":      "slots: 8, coalesce: false",
	"journal":    "slots: 8, layout: journal",
}

// tenantDB returns a database in which two schemas have tables of the same names, plain and through slotsql.
func tenantDB(t *testing.T, way, options string) (plain, wrapped *sql.DB) {
	t.Helper()
	plain, wrapped = tenantOn(t, tenantConnectors[way], options)
	if way == "pool" {
		wrapped.SetMaxIdleConns(0) // as OpenDBFromPool has it
	}
	return plain, wrapped
}

func tenantOn(t *testing.T, connector func(*testing.T, string) driver.Connector, options string) (plain, wrapped *sql.DB) {
	t.Helper()
	dsn := server.Postgres(t)
	plain, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	for _, schema := range []string{"t1", "t2"} {
		for _, q := range []string{
			"CREATE SCHEMA " + schema,
			"CREATE TABLE " + schema + ".posts (id int PRIMARY KEY, views int NOT NULL)",
			"INSERT INTO " + schema + ".posts SELECT i, 0 FROM generate_series(1, 3) i",
		} {
			if _, err := plain.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, "+options+"}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err = slotsql.OpenDB(connector(t, dsn), postgres.Dialect(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wrapped.Close() })
	return plain, wrapped
}

const (
	countPost = "UPDATE posts SET views = views + 1 WHERE id = 1"
	readPost  = "SELECT views FROM posts WHERE id = 1"
)

func wantViews(t *testing.T, ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, want int,
) {
	t.Helper()
	var n int
	if err := db.QueryRowContext(ctx, readPost).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != want {
		t.Errorf("%v: %d views, want %d", ctx.Value(tenantKey{}), n, want)
	}
}

// countByTurns has eight workers count for each of two tenants by turns, and returns how often for each.
func countByTurns(t *testing.T, db *sql.DB, times int) int {
	t.Helper()
	const workers = 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range times {
				ctx := ofTenant(t.Context(), fmt.Sprintf("t%d", 1+(w+i)%2))
				if err := affected(db.ExecContext(ctx, countPost)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return workers * times / 2
}

// A connector that gives each session the schema of a tenant: each tenant has its own counts.
func TestTenantsBySearchPath(t *testing.T) {
	t.Parallel()
	for way := range tenantConnectors {
		for name, options := range tenantOptions {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				_, db := tenantDB(t, way, options)
				count := countByTurns(t, db, 100)
				for _, schema := range []string{"t1", "t2"} {
					wantViews(t, ofTenant(t.Context(), schema), db, count)
				}
			})
		}
	}
}

// The same without concurrency, where each tenant's statements follow the other's.
func TestTenantsByTurns(t *testing.T) {
	t.Parallel()
	for way := range tenantConnectors {
		for name, options := range tenantOptions {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				_, db := tenantDB(t, way, options)
				db.SetMaxOpenConns(1)
				one, two := ofTenant(t.Context(), "t1"), ofTenant(t.Context(), "t2")
				for i := range 4 {
					for _, ctx := range []context.Context{one, two} {
						if err := affected(db.ExecContext(ctx, countPost)); err != nil {
							t.Fatal(err)
						}
						wantViews(t, ctx, db, i+1)
					}
				}
				for _, ctx := range []context.Context{one, two, one} {
					tx, err := db.BeginTx(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					for _, q := range []string{"UPDATE posts SET views = 10 WHERE id = 1", countPost, countPost} {
						if err := affected(tx.ExecContext(ctx, q)); err != nil {
							t.Fatal(err)
						}
					}
					wantViews(t, ctx, tx, 12)
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
				}
				wantViews(t, two, db, 12)
				wantViews(t, one, db, 12)
			})
		}
	}
}

// Settings that a hook gives each session are its own, whether the server can list them or not.
func TestSettingsByHook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ set, expression string }{
		"custom":    {"SET app.number = '%d'", "current_setting('app.number')"},
		"time zone": {"SET TIME ZONE %d", "to_char(timestamptz '2026-01-01 00:00:00+00', 'FMHH24')"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			connector := func(t *testing.T, dsn string) driver.Connector {
				cfg, err := pgx.ParseConfig(dsn)
				if err != nil {
					t.Fatal(err)
				}
				return stdlib.GetConnector(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
					if err := setPath(ctx, conn); err != nil {
						return err
					}
					_, err := conn.Exec(ctx, fmt.Sprintf(c.set, 1+n.Add(1)%2))
					return err
				}))
			}
			_, db := tenantOn(t, connector, "slots: 0")
			const sessions, times = 8, 50
			var counting atomic.Int64
			var wg sync.WaitGroup
			for range sessions {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					defer conn.Close()
					var own int
					if err := conn.QueryRowContext(t.Context(), "SELECT CAST("+c.expression+" AS int)").Scan(&own); err != nil {
						t.Error(err)
						return
					}
					counting.Add(int64(2 - own))
					for range times {
						res, err := conn.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1 AND "+c.expression+" = '1'")
						if err != nil {
							t.Error(err)
							return
						}
						if n, err := res.RowsAffected(); err != nil || n != int64(2-own) {
							t.Errorf("session %d: %d rows, %v", own, n, err)
							return
						}
					}
				})
			}
			wg.Wait()
			wantViews(t, t.Context(), db, times*int(counting.Load()))
		})
	}
}

// asking counts how often the session that has sent thisOne is asked which tables its names mean.
type asking struct {
	of atomic.Pointer[pgx.Conn]
	n  atomic.Int64
}

const thisOne = "SELECT 'this one'"

func (a *asking) TraceQueryStart(ctx context.Context, c *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if q.SQL == thisOne {
		a.of.Store(c)
	}
	if strings.Contains(q.SQL, "current_schemas(true)") && a.of.Load() == c {
		a.n.Add(1)
	}
	return ctx
}

func (*asking) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A session is only asked what it is where it may have changed: never without hooks, once for a
// connection that a hook has opened, and once each time it comes from a pool with a hook and is used
// for a counter table. Code with the parent's connection has it asked before each such statement.
func TestSessionsAreAskedRarely(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *pgx.Conn) error { return nil }
	for name, c := range map[string]struct {
		options           []stdlib.OptionOpenDB
		counted, others   int64 // questions for ten statements
		inRaw, afterwards int64
	}{
		"no hooks":      {nil, 0, 0, 10, 1},
		"after connect": {[]stdlib.OptionOpenDB{stdlib.OptionAfterConnect(nothing)}, 0, 0, 10, 1}, // with its first statement
		"reset":         {[]stdlib.OptionOpenDB{stdlib.OptionResetSession(nothing)}, 10, 0, 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a asking
			_, db := tenantOn(t, func(t *testing.T, dsn string) driver.Connector {
				cfg, err := pgx.ParseConfig(dsn + "&search_path=t1")
				if err != nil {
					t.Fatal(err)
				}
				cfg.Tracer = &a
				return stdlib.GetConnector(*cfg, c.options...)
			}, "slots: 8")
			db.SetMaxOpenConns(1)
			asked := func(f func()) int64 {
				before := a.n.Load()
				f()
				return a.n.Load() - before
			}
			exec := func(on interface {
				ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
			}, query string,
			) {
				t.Helper()
				for range 10 {
					if _, err := on.ExecContext(t.Context(), query); err != nil {
						t.Fatal(err)
					}
				}
			}
			exec(db, thisOne)
			if n := asked(func() { exec(db, countPost) }); n != c.counted {
				t.Errorf("asked %d times for ten increments, want %d", n, c.counted)
			}
			if n := asked(func() { exec(db, thisOne) }); n != c.others {
				t.Errorf("asked %d times for ten other statements, want %d", n, c.others)
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			raw(t, conn, func(driver.Conn) error { return nil })
			if n := asked(func() { exec(conn, countPost) }); n != c.inRaw {
				t.Errorf("asked %d times for ten increments after Raw, want %d", n, c.inRaw)
			}
			_ = conn.Close()
			if n := asked(func() { exec(db, countPost) }); n != c.afterwards {
				t.Errorf("asked %d times for ten increments on the connection that Raw has had, want %d", n, c.afterwards)
			}
		})
	}
}

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strconv"
	"testing"

	"github.com/ngrok/sqlmw"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// idle is a parent driver that does nothing, so that what is measured is the
// way to it.
type idle struct{}

func (idle) Connect(context.Context) (driver.Conn, error) { return idleConn{}, nil }
func (idle) Driver() driver.Driver                        { return idle{} }
func (idle) Open(string) (driver.Conn, error)             { return idleConn{}, nil }

type idleConn struct{}

func (idleConn) Prepare(string) (driver.Stmt, error) { return idleStmt{}, nil }
func (idleConn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }
func (idleConn) Close() error                        { return nil }
func (idleConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}
func (idleConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return idleRows{new(bool)}, nil
}

type idleStmt struct{}

func (idleStmt) Close() error                               { return nil }
func (idleStmt) NumInput() int                              { return -1 }
func (idleStmt) Exec([]driver.Value) (driver.Result, error) { return driver.RowsAffected(1), nil }
func (idleStmt) Query([]driver.Value) (driver.Rows, error)  { return idleRows{new(bool)}, nil }
func (idleStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}
func (idleStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return idleRows{new(bool)}, nil
}

// idleRows return one row, whose last column reports no slots.
type idleRows struct{ read *bool }

func (idleRows) Columns() []string { return []string{"id", "title", "views", "slotsql_slots"} }
func (idleRows) Close() error      { return nil }
func (r idleRows) Next(row []driver.Value) error {
	if *r.read {
		return io.EOF
	}
	*r.read = true
	for i := range row {
		row[i] = int64(0)
	}
	return nil
}

const (
	sqlUntouched = "SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL"
	sqlIncrement = "UPDATE posts SET views = views + 1 WHERE id = ?"
	sqlRead      = "SELECT id, title, views FROM posts WHERE id = ?"
	sqlDrain     = "UPDATE posts SET views = 0 WHERE id = ?"
)

// benchShared is a connector's state with one counter table, as if read from
// a database.
func benchShared(b testing.TB, d dialect.Dialect, placement string) (*Shared, *catalog.Schema) {
	b.Helper()
	cfg, err := config.Parse([]byte("version: 1\ndefaults: {slots: 64, placement: "+placement+"}\ntables: {posts: {counters: {views: }}}"), "slotsql.yaml")
	if err != nil {
		b.Fatal(err)
	}
	s := New(d, cfg)
	posts := &schema.Table{
		Schema: "main", Name: "posts",
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
			{Name: "title", Type: "text"},
			{Name: "views", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
		},
		Uniques: []schema.Unique{{Name: "posts_pkey", Primary: true, Columns: []string{"id"}}},
	}
	posts.Counter = catalog.Counter(&cfg.Tables()[0], posts, d.NameRules())
	sc := &catalog.Schema{Catalog: s.Catalog, Tables: []*schema.Table{posts}, Known: map[string]*schema.Table{}}
	sc.Planner = rewrite.Planner{Dialect: d, Catalog: sc}
	sc.Known[sc.NameKey([]ast.Ident{{Name: "posts"}})] = posts
	s.Home.Facts = sc
	return s, sc
}

func benchConn(b *testing.B) *Conn {
	b.Helper()
	s, _ := benchShared(b, sqlite.New(), "connection")
	c, err := NewConn(b.Context(), s, idleConn{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkWay is the way of one statement to the parent driver: straight,
// through sqlmw that intercepts nothing, and through slotsql. benchstat -col /way
// sets them side by side.
func BenchmarkWay(b *testing.B) {
	through, err := sqlmw.Driver(idle{}, sqlmw.NullInterceptor{}).Open("")
	if err != nil {
		b.Fatal(err)
	}
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}
	for _, way := range []struct {
		name string
		conn driver.Conn
	}{{"plain", idleConn{}}, {"sqlmw", through}, {"slotsql", benchConn(b)}} {
		b.Run("op=exec-untouched/way="+way.name, func(b *testing.B) { benchExec(b, way.conn, sqlUntouched, args) })
		b.Run("op=query-untouched/way="+way.name, func(b *testing.B) { benchQuery(b, way.conn, sqlUntouched, args) })
		if way.name == "slotsql" {
			b.Run("op=exec-increment/way="+way.name, func(b *testing.B) { benchExec(b, way.conn, sqlIncrement, args) })
			b.Run("op=query-read/way="+way.name, func(b *testing.B) { benchQuery(b, way.conn, sqlRead, args) })
		}
	}
}

func benchExec(b *testing.B, c driver.Conn, query string, args []driver.NamedValue) {
	e, ctx := c.(driver.ExecerContext), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.ExecContext(ctx, query, args); err != nil {
			b.Fatal(err)
		}
	}
}

func benchQuery(b *testing.B, c driver.Conn, query string, args []driver.NamedValue) {
	q, ctx := c.(driver.QueryerContext), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		rows, err := q.QueryContext(ctx, query, args)
		if err != nil {
			b.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDatabaseSQL is the same way as an application goes it, by sql.DB.
func BenchmarkDatabaseSQL(b *testing.B) {
	s, _ := benchShared(b, sqlite.New(), "connection")
	for _, way := range []struct {
		name string
		db   *sql.DB
	}{{"plain", sql.OpenDB(idle{})}, {"sqlmw", sql.OpenDB(sqlmwConnector{})}, {"slotsql", sql.OpenDB(bareConnector{&testConnector{idle{}, s}})}} {
		b.Run("way="+way.name, func(b *testing.B) {
			defer way.db.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := way.db.Exec(sqlUntouched, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type sqlmwConnector struct{ idle }

func (sqlmwConnector) Connect(context.Context) (driver.Conn, error) {
	return sqlmw.Driver(idle{}, sqlmw.NullInterceptor{}).Open("")
}

// bareConnector makes wrapped connections of facts already known.
type bareConnector struct{ *testConnector }

func (c bareConnector) Connect(ctx context.Context) (driver.Conn, error) {
	return NewConn(ctx, c.shared, idleConn{})
}

// BenchmarkPlanCached finds a plan that has been made; parallel, by one
// connection per CPU.
func BenchmarkPlanCached(b *testing.B) {
	for _, t := range []struct{ name, sql string }{{"untouched", sqlUntouched}, {"increment", sqlIncrement}} {
		s, _ := benchShared(b, sqlite.New(), "connection")
		b.Run(t.name, func(b *testing.B) {
			c, err := NewConn(b.Context(), s, idleConn{})
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Plan(ctx, t.sql); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(t.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c, err := NewConn(b.Context(), s, idleConn{})
				if err != nil {
					b.Error(err)
					return
				}
				ctx := b.Context()
				for pb.Next() {
					if _, err := c.Plan(ctx, t.sql); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkPlanUncached makes a plan: for a statement that names no configured
// table, by looking for the name; for others, by parsing.
func BenchmarkPlanUncached(b *testing.B) {
	for _, d := range []dialect.Dialect{mysql.New(), postgres.New(), sqlite.New()} {
		for _, t := range []struct{ name, sql string }{
			{"untouched", sqlUntouched}, {"increment", sqlIncrement}, {"read", sqlRead}, {"drain", sqlDrain},
		} {
			query := t.sql
			if d.LexRules().DollarParam {
				query = query[:len(query)-1] + "$1"
				if t.name == "untouched" {
					query = "SELECT id, name, email FROM users WHERE id = $1 AND deleted_at IS NULL"
				}
			}
			b.Run(d.Name()+"/"+t.name, func(b *testing.B) {
				s, sc := benchShared(b, d, "connection")
				c, err := NewConn(b.Context(), s, idleConn{})
				if err != nil {
					b.Fatal(err)
				}
				p, err := c.Plan(b.Context(), query)
				if err != nil {
					b.Fatal(err)
				}
				want := map[string]rewrite.Class{
					"untouched": rewrite.PassThrough, "increment": rewrite.Additive, "read": rewrite.Read, "drain": rewrite.Drain,
				}[t.name]
				if p.Class != want {
					b.Fatalf("class %s, want %s: %s", p.Class, want, p.Reason)
				}
				b.ReportAllocs()
				for b.Loop() {
					s.Untouched.Clear()
					sc.Plans.Clear()
					if _, err := c.Plan(b.Context(), query); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPlanChurn makes plans for an application that writes its values
// into its SQL, so that no statement comes twice and the cache is always full.
func BenchmarkPlanChurn(b *testing.B) {
	for _, t := range []struct{ name, sql string }{{"untouched", sqlUntouched}, {"increment", sqlIncrement}} {
		b.Run(t.name, func(b *testing.B) {
			c, n := benchConn(b), 0
			next := func() {
				n++
				if _, err := c.Plan(b.Context(), t.sql[:len(t.sql)-1]+strconv.Itoa(n)); err != nil {
					b.Fatal(err)
				}
			}
			for range catalog.MaxCachedPlans {
				next()
			}
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}

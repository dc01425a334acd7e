// Package twin runs the same statements against two databases of one engine,
// one through the plain driver and one through the wrapped one, and says where
// a program could tell them apart.
//
//	p := twin.New(t, twin.Options{
//		Dialect: "postgres",
//		Schema:  []string{"CREATE TABLE posts (id int PRIMARY KEY, views int NOT NULL)"},
//		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
//	})
//	p.Same(t, twin.Statement{SQL: "SELECT views FROM posts WHERE id = $1", Args: []any{1}})
package twin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
)

// Pair is two databases with the same schema and rows.
type Pair struct {
	Dialect string
	Plain   *sql.DB // the plain driver, on its own database
	Wrapped *sql.DB // the wrapped driver, on the other database
	Under   *sql.DB // the plain driver on Wrapped's database, for looking below

	// The data sources and the configuration file, for opening more.
	PlainDSN, WrappedDSN, ConfigPath string
}

// Options says what a pair is made of.
type Options struct {
	Dialect string   // mysql, postgres or sqlite
	Schema  []string // DDL and seed rows, run in order through the plain driver on both sides
	Config  string   // of slotsql, as YAML; without slots: among its defaults there are 64 on every engine
	Params  string   // added to both DSNs: "interpolateParams=true&clientFoundRows=true"
	Open    Opener   // of the wrapped side; nil means the wrapped driver
}

// Opener opens the wrapped side. The driver is the plain one's name.
type Opener func(driver, dsn, configPath string) (*sql.DB, error)

// OpenPlain is the opener of a twin whose two sides are both plain: nothing
// may differ.
func OpenPlain(driver, dsn, _ string) (*sql.DB, error) { return sql.Open(driver, dsn) }

// engine is what twin has to know of a dialect.
type engine struct {
	fresh  func(testing.TB) string
	params func(dsn, params string) string
	quote  func(ident string) string
	tables string // query for schema and name of all base tables
}

var engines = map[string]engine{
	"mysql": {
		fresh:  server.MariaDB,
		params: query,
		quote:  func(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" },
		tables: "SELECT table_schema, table_name FROM information_schema.tables " +
			"WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
	},
	"postgres": {
		fresh: server.Postgres,
		params: func(dsn, params string) string {
			if strings.Contains(dsn, "://") {
				return query(dsn, params)
			}
			return dsn + " " + strings.ReplaceAll(params, "&", " ")
		},
		quote: quoteStandard,
		tables: "SELECT schemaname, tablename FROM pg_catalog.pg_tables " +
			"WHERE schemaname NOT LIKE 'pg\\_%' AND schemaname <> 'information_schema'",
	},
	"sqlite": {
		fresh: server.SQLite,
		params: func(dsn, params string) string {
			if strings.Contains(params, "busy_timeout") { // of two, the DSN's own would hold
				dsn = busyTimeout.ReplaceAllString(dsn, "")
			}
			return query(dsn, params)
		},
		quote:  quoteStandard,
		tables: "SELECT 'main', name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
	},
}

var busyTimeout = regexp.MustCompile(`_pragma=busy_timeout\(\d+\)&?`)

func quoteStandard(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func query(dsn, params string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&" + params
	}
	return dsn + "?" + params
}

// New makes a pair that lives as long as the test. Any problem ends the test.
func New(t testing.TB, o Options) *Pair {
	t.Helper()
	e, ok := engines[o.Dialect]
	if !ok {
		t.Fatalf("no dialect %q", o.Dialect)
	}
	Serves(t, o.Dialect)
	if o.Dialect == "mysql" && server.MySQLVersion(t).MySQL {
		onMySQL.Store(true)
	}
	driver := Plain[o.Dialect]
	p := &Pair{Dialect: o.Dialect, PlainDSN: e.fresh(t), WrappedDSN: e.fresh(t)}
	if o.Params != "" {
		p.PlainDSN, p.WrappedDSN = e.params(p.PlainDSN, o.Params), e.params(p.WrappedDSN, o.Params)
	}
	p.ConfigPath = filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(p.ConfigPath, []byte(golden.WithSlots(o.Config)), 0o600); err != nil {
		t.Fatal(err)
	}

	open := func(what string, db *sql.DB, err error) *sql.DB {
		t.Helper()
		if err != nil {
			t.Fatalf("open %s: %v", what, err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close %s: %v", what, err)
			}
		})
		return db
	}
	// The sessions that run the schema end here: what an engine remembers of
	// one, such as the last identity, must be the same on both sides.
	for _, dsn := range []string{p.PlainDSN, p.WrappedDSN} {
		if err := prepare(t.Context(), driver, dsn, o.Schema); err != nil {
			t.Fatalf("schema: %v", err)
		}
	}
	db, err := sql.Open(driver, p.PlainDSN)
	p.Plain = open("plain", db, err)
	db, err = sql.Open(driver, p.WrappedDSN)
	p.Under = open("plain", db, err)
	if o.Open == nil {
		o.Open = OpenWrapped
	}
	db, err = o.Open(driver, p.WrappedDSN, p.ConfigPath)
	p.Wrapped = open("wrapped", db, err)
	return p
}

func prepare(ctx context.Context, driver, dsn string, schema []string) (err error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, s := range schema {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return nil
}

// Quote quotes an identifier.
func (p *Pair) Quote(ident string) string { return engines[p.Dialect].quote(ident) }

// Same runs the statement on both sides and reports every difference as an
// error of the test.
func (p *Pair) Same(t testing.TB, s Statement) (plain, wrapped Outcome) {
	t.Helper()
	plain, wrapped = p.Run(t.Context(), s)
	for _, d := range Compare(plain, wrapped) {
		t.Errorf("%s\n%s %v", d, s.SQL, s.Args)
	}
	return plain, wrapped
}

// FinalTables compares the contents of all base tables that the plain side has,
// those of the wrapped side read through the wrapped driver.
func (p *Pair) FinalTables(ctx context.Context) ([]Difference, error) {
	tables, err := p.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var all []Difference
	for _, table := range tables {
		plain, wrapped := p.Run(ctx, Statement{SQL: "SELECT * FROM " + table})
		if plain.Err != nil {
			return nil, fmt.Errorf("table %s: %w", table, plain.Err)
		}
		for _, d := range Compare(plain, wrapped) {
			d.What = "table " + table + ": " + d.What
			all = append(all, d)
		}
	}
	return all, nil
}

// Tables returns the quoted names of the plain side's base tables.
func (p *Pair) Tables(ctx context.Context) ([]string, error) { return p.TablesOf(ctx, p.Plain) }

// TablesOf returns the quoted names of the base tables of one side's database.
func (p *Pair) TablesOf(ctx context.Context, db *sql.DB) ([]string, error) {
	e := engines[p.Dialect]
	rows, err := db.QueryContext(ctx, e.tables+" ORDER BY 1, 2")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var schema, name string
		if err := rows.Scan(&schema, &name); err != nil {
			return nil, err
		}
		// The two sides' databases differ in name on MySQL.
		if p.Dialect == "postgres" && schema != "public" {
			tables = append(tables, e.quote(schema)+"."+e.quote(name))
		} else {
			tables = append(tables, e.quote(name))
		}
	}
	return tables, rows.Err()
}

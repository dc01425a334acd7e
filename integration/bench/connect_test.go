package bench

import (
	"database/sql"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

var benchTables = flag.Int("tables", 1000, "counter tables of BenchmarkConnect")

// BenchmarkConnect measures connecting with many counter tables whose slot tables are
// there: the first connection of a process, which reads the catalog, and later ones
// beside those of the plain driver.
func BenchmarkConnect(b *testing.B) {
	for _, e := range []struct {
		name, dialect, plain, wrapped string
		d                             dialect.Dialect
	}{
		{"SQLite", "sqlite", "sqlite", "sqlite3-slotsql", sqlite.Dialect()},
		{"MariaDB", "mysql", "mysql", "mysql-slotsql", mysql.Dialect()},
		{"PostgreSQL", "postgres", "pgx", "postgres-slotsql", postgres.Dialect()},
	} {
		b.Run(e.name, func(b *testing.B) {
			o := twin.Options{Dialect: e.dialect}
			config := "version: 1\nauto_migrate: true\ndefaults: {slots: 64}\ntables:\n"
			for i := range *benchTables {
				o.Schema = append(o.Schema, fmt.Sprintf("CREATE TABLE c%d (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", i))
				config += fmt.Sprintf("  c%d: {counters: {n: {}}}\n", i)
			}
			o.Config = config
			p := twin.New(b, o)
			if err := p.Wrapped.PingContext(b.Context()); err != nil { // creates the slot tables
				b.Fatal(err)
			}
			cfg, err := slotsql.Parse([]byte(config), "slotsql.yaml")
			if err != nil {
				b.Fatal(err)
			}
			open := func() *sql.DB {
				db, err := slotsql.Open(e.wrapped, p.WrappedDSN, slotsql.WithConfig(cfg))
				if err != nil {
					b.Fatal(err)
				}
				return db
			}
			b.Run("first", func(b *testing.B) {
				for b.Loop() {
					db := open()
					if err := db.PingContext(b.Context()); err != nil {
						b.Fatal(err)
					}
					_ = db.Close()
				}
			})
			plain, err := sql.Open(e.plain, p.WrappedDSN)
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			wrapped := open()
			defer wrapped.Close()
			b.Run("later", func(b *testing.B) {
				var took [2][]float64
				for b.Loop() {
					for i, db := range []*sql.DB{plain, wrapped} {
						took[i] = append(took[i], float64(connectAnew(b, db)))
					}
				}
				b.ReportMetric(median(took[0]), "plain-ns/op")
				b.ReportMetric(median(took[1]), "wrapped-ns/op")
			})
		})
	}
}

// connectAnew opens a second connection beside one in use.
func connectAnew(b *testing.B, db *sql.DB) time.Duration {
	db.SetMaxIdleConns(1)
	held, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer held.Close()
	start := time.Now()
	c, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	_ = c.Close() // the pool keeps it until held is back, of which it keeps one
	return took
}

// BenchmarkShortConnections measures a pool as database/sql has it when nothing is set: twelve
// clients and two idle connections, so that most statements open a connection, which is closed
// behind them.
func BenchmarkShortConnections(b *testing.B) {
	const clients, idle = 12, 2
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) {
			plain, wrapped := benchPair(b, e.dialect, e.id, clients, 0)
			for _, s := range []*side{plain, wrapped} {
				s.db.SetMaxIdleConns(idle)
			}
			for _, c := range []struct {
				name string
				op   operation
			}{{"untouched", untouched}, {"increment", increment}, {"point read", pointRead}} {
				b.Run(c.name, func(b *testing.B) { ratio(b, plain, wrapped, c.op, clients) })
			}
			exact(b, plain, wrapped)
		})
	}
}

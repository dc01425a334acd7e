// Package wrapper tests slotsql inside and outside of otelsql.
package wrapper

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

var engines = map[string]struct {
	plain   string
	dialect dialect.Dialect
	dsn     func(testing.TB) string
}{
	"mysql":    {"mysql", mysql.Dialect(), server.MariaDB},
	"postgres": {"pgx", postgres.Dialect(), server.Postgres},
	"sqlite":   {"sqlite", sqlite.Dialect(), server.SQLite},
}

// database makes a database with the suite's schema, and returns it opened plainly.
func database(t *testing.T, engine string) (*sql.DB, string) {
	t.Helper()
	e := engines[engine]
	dsn := e.dsn(t)
	db, err := sql.Open(e.plain, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, q := range suite.Schema {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return db, dsn
}

func config(t *testing.T) *slotsql.Config {
	t.Helper()
	cfg, err := slotsql.Parse([]byte(suite.Config), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// connect opens connections of a driver that has no connectors.
type connect struct {
	driver driver.Driver
	dsn    string
}

func (c connect) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connect) Driver() driver.Driver                        { return c.driver }

func TestOtelsql(t *testing.T) {
	for engine, e := range engines {
		t.Run(engine+"/inside", func(t *testing.T) {
			plain, _ := database(t, engine)
			_, dsn := database(t, engine)
			parent, err := otelsql.Open(e.plain, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer parent.Close()
			db, err := slotsql.OpenDB(connect{parent.Driver(), dsn}, e.dialect, config(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			suite.Compare(t, plain, db)
		})
		t.Run(engine+"/outside", func(t *testing.T) {
			plain, _ := database(t, engine)
			_, dsn := database(t, engine)
			c, err := slotsql.OpenConnector(map[string]string{"mysql": mysql.DriverName, "postgres": postgres.DriverName, "sqlite": sqlite.DriverName}[engine],
				dsn, slotsql.WithConfig(config(t)))
			if err != nil {
				t.Fatal(err)
			}
			db := otelsql.OpenDB(c)
			defer db.Close()
			suite.Compare(t, plain, db)
		})
	}
}

// A program that has a pgxpool.Pool puts slotsql over it by the connector of pgx's stdlib.
func TestPool(t *testing.T) {
	plain, _ := database(t, "postgres")
	_, dsn := database(t, "postgres")
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close) // which waits for connections that are in use
	db, err := slotsql.OpenDB(stdlib.GetPoolConnector(pool), postgres.Dialect(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	suite.Compare(t, plain, db)
}

// connected is the driver of one connector, for wrappers that take a driver.
type connected struct{ *slotsql.Connector }

func (c connected) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

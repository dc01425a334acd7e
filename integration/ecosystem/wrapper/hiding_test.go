package wrapper

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/ngrok/sqlmw"
	"github.com/qustavo/sqlhooks/v2"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

// nothing hooks without doing anything.
type nothing struct{}

func (nothing) Before(ctx context.Context, _ string, _ ...any) (context.Context, error) {
	return ctx, nil
}
func (nothing) After(ctx context.Context, _ string, _ ...any) (context.Context, error) {
	return ctx, nil
}

// bareDriver is a wrapper by hand whose connections offer what every connection must, and nothing else.
type bareDriver struct{ driver.Driver }

func (d bareDriver) Open(dsn string) (driver.Conn, error) {
	c, err := d.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	return bareConn{c}, nil
}

type bareConn struct{ c driver.Conn }

func (b bareConn) Prepare(query string) (driver.Stmt, error) { return b.c.Prepare(query) }
func (b bareConn) Close() error                              { return b.c.Close() }
func (b bareConn) Begin() (driver.Tx, error)                 { return b.c.Begin() } //nolint:staticcheck // all there is

// hiding have no way to the connection that they wrap.
var hiding = map[string]func(driver.Driver) driver.Driver{
	"sqlhooks": func(d driver.Driver) driver.Driver { return sqlhooks.Wrap(d, nothing{}) },
	"sqlmw":    func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, sqlmw.NullInterceptor{}) },
	"bare":     func(d driver.Driver) driver.Driver { return bareDriver{d} },
}

// TestHiding runs the suite, whose drains are in and outside of transactions, with each of them on each side.
func TestHiding(t *testing.T) {
	for name, wrap := range hiding {
		for engine := range engines {
			t.Run(name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				testHiding(t, engine, wrap)
			})
		}
	}
}

func testHiding(t *testing.T, engine string, wrap func(driver.Driver) driver.Driver) {
	e := engines[engine]
	t.Run("inside", func(t *testing.T) {
		plain, _ := database(t, engine)
		_, dsn := database(t, engine)
		db, err := slotsql.OpenDB(connect{wrap(plain.Driver()), dsn}, e.dialect, config(t))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		suite.Compare(t, plain, db)
	})
	t.Run("outside", func(t *testing.T) {
		plain, _ := database(t, engine)
		_, dsn := database(t, engine)
		name := map[string]string{"mysql": mysql.DriverName, "postgres": postgres.DriverName, "sqlite": sqlite.DriverName}[engine]
		c, err := slotsql.OpenConnector(name, dsn, slotsql.WithConfig(config(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		db := sql.OpenDB(connect{wrap(connected{c}), dsn})
		defer db.Close()
		suite.Compare(t, plain, db)
	})
}

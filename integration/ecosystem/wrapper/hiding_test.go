package wrapper

import (
	"context"
	"database/sql"
	"testing"

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

// sqlhooks has no way to the connection that it wraps.
func TestSqlhooks(t *testing.T) {
	for engine, e := range engines {
		t.Run(engine+"/inside", func(t *testing.T) {
			plain, _ := database(t, engine)
			_, dsn := database(t, engine)
			db, err := slotsql.OpenDB(connect{sqlhooks.Wrap(plain.Driver(), nothing{}), dsn}, e.dialect, config(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			suite.Compare(t, plain, db)
		})
		t.Run(engine+"/outside", func(t *testing.T) {
			plain, _ := database(t, engine)
			_, dsn := database(t, engine)
			name := map[string]string{"mysql": mysql.DriverName, "postgres": postgres.DriverName, "sqlite": sqlite.DriverName}[engine]
			c, err := slotsql.OpenConnector(name, dsn, slotsql.WithConfig(config(t)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			db := sql.OpenDB(connect{sqlhooks.Wrap(connected{c}, nothing{}), dsn})
			defer db.Close()
			suite.Compare(t, plain, db)
		})
	}
}

package cases

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func mariaDB() *mysql.Dialect {
	d := mysql.New()
	d.NoWait, d.MariaDB = true, true
	return d
}

// Dialects are those of the servers that the tests run on.
var Dialects = map[string]dialect.Dialect{"mysql": mariaDB(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// Facts are those of a table on the plain side; nil if there is no such table.
func Facts(ctx context.Context, p *twin.Pair, schema, name string) (*schema.Table, error) {
	return Dialects[p.Dialect].Table(ctx, session{p.Plain}, schema, name)
}

// session is a dialect.Session on a plain database.
type session struct{ db *sql.DB }

func (s session) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	o := twin.Run(ctx, s.db, twin.Statement{SQL: query, Args: args, Mode: twin.Query})
	if o.Err != nil || len(o.Sets) == 0 {
		return nil, o.Err
	}
	return o.Sets[0].Rows, nil
}

func (s session) Exec(ctx context.Context, query string, args ...any) error {
	_, err := s.db.ExecContext(ctx, query, args...)
	return err
}

package slotsql

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/slotsql/slotsql/internal/link"
)

// A parent of the versions that slotsql is built with is known to have no hooks unless it has been
// given one: else its sessions would be asked what they are, for nothing.
func TestHooksOfParents(t *testing.T) {
	t.Parallel()
	opened := func(d driver.DriverContext, dsn string) driver.Connector {
		c, err := d.OpenConnector(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	pgxConfig, err := pgx.ParseConfig("postgres://localhost/x")
	if err != nil {
		t.Fatal(err)
	}
	withPgConn := *pgxConfig
	withPgConn.Config = *withPgConn.Config.Copy()
	withPgConn.AfterConnect = func(context.Context, *pgconn.PgConn) error { return nil }
	pool, err := pgxpool.New(t.Context(), "postgres://localhost/x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	my := func(options ...mysql.Option) driver.Connector {
		cfg := mysql.NewConfig()
		if err := cfg.Apply(options...); err != nil {
			t.Fatal(err)
		}
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	lite, err := sqlite.NewConnector("file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	attaching := &sqlite.Driver{}
	attaching.RegisterConnectionHook(func(sqlite.ExecQuerierContext, string) error { return nil })
	none, opening, both := link.ParentHooks{}, link.ParentHooks{Opening: true}, link.ParentHooks{Opening: true, Reset: true}
	for name, c := range map[string]struct {
		connector driver.Connector
		want      link.ParentHooks
	}{
		"pgx by DSN":         {opened(stdlib.GetDefaultDriver().(driver.DriverContext), "postgres://localhost/x"), none},
		"pgx":                {stdlib.GetConnector(*pgxConfig), none},
		"pgx, hosts":         {stdlib.GetConnector(*pgxConfig, stdlib.OptionBeforeConnect(stdlib.RandomizeHostOrderFunc)), none},
		"pgx, ping":          {stdlib.GetConnector(*pgxConfig, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false })), none},
		"pgx, AfterConnect":  {stdlib.GetConnector(*pgxConfig, stdlib.OptionAfterConnect(func(context.Context, *pgx.Conn) error { return nil })), opening},
		"pgx, BeforeConnect": {stdlib.GetConnector(*pgxConfig, stdlib.OptionBeforeConnect(func(context.Context, *pgx.ConnConfig) error { return nil })), opening},
		"pgx, pgconn":        {stdlib.GetConnector(withPgConn), opening},
		"pgx, ResetSession": {
			stdlib.GetConnector(*pgxConfig, stdlib.OptionResetSession(func(context.Context, *pgx.Conn) error { return nil })),
			link.ParentHooks{Reset: true},
		},
		"pgx, registered": {opened(stdlib.GetDefaultDriver().(driver.DriverContext), stdlib.RegisterConnConfig(pgxConfig)), opening},
		"pgxpool":         {stdlib.GetPoolConnector(pool), both},
		"mysql by DSN":    {opened(mysql.MySQLDriver{}, "/x"), none},
		"mysql":           {my(), none},
		"mysql, BeforeConnect": {
			my(mysql.BeforeConnect(func(context.Context, *mysql.Config) error { return nil })), opening,
		},
		"sqlite":           {lite, none},
		"sqlite by DSN":    {dsnConnector{&sqlite.Driver{}, ""}, none},
		"sqlite with hook": {dsnConnector{attaching, ""}, opening},
		"not known":        {struct{ driver.Connector }{my()}, both},
	} {
		if got := hooksOf(c.connector); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

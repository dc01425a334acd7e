package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
)

var postgres = &engine{
	name:   "PostgreSQL",
	env:    EnvPostgres,
	driver: "pgx",
	find:   postgresLayout,
	withDatabase: func(dsn, database string) (string, error) {
		if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
			return dsn + " dbname=" + database, nil // the last one counts
		}
		u, err := url.Parse(dsn)
		if err != nil {
			return "", err
		}
		u.Path = "/" + database
		return u.String(), nil
	},
	create: createPostgres,
	drop:   dropPostgres,
}

// dropPostgres ends the sessions that a test has left in the database first. The server waits five
// seconds for them to go, which is too short for a busy machine.
func dropPostgres(ctx context.Context, admin *sql.DB, database string) error {
	for {
		_, err := admin.ExecContext(ctx, fmt.Sprintf(`DROP DATABASE "%s" WITH (FORCE)`, database))
		if e := (*pgconn.PgError)(nil); !errors.As(err, &e) || e.Code != objectInUse || ctx.Err() != nil {
			return err
		}
	}
}

// createPostgres copies template0, which has no sessions that CREATE DATABASE would wait for.
// Copying its files takes half as long as writing them to the log, as versions from 15 do
// unless told otherwise; older ones copy files and do not know the word.
func createPostgres(ctx context.Context, admin *sql.DB, database string) error {
	create := fmt.Sprintf(`CREATE DATABASE "%s" TEMPLATE template0`, database)
	_, err := admin.ExecContext(ctx, create+" STRATEGY file_copy")
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == syntaxError {
		_, err = admin.ExecContext(ctx, create)
	}
	return err
}

const syntaxError, objectInUse = "42601", "55006"

var postgresDirs = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/bin", "/opt/homebrew/bin"}

func postgresLayout() (layout, error) {
	initdb, err := find([]string{"initdb"}, postgresDirs)
	if err != nil {
		return layout{}, err
	}
	daemon, err := find([]string{"postgres"}, postgresDirs)
	if err != nil {
		return layout{}, err
	}
	return layout{
		users: []string{"postgres"},
		prepare: func(dir string) []string {
			return []string{
				initdb, "--pgdata=" + filepath.Join(dir, "data"), "--username=postgres", "--auth=trust",
				"--encoding=UTF8", "--locale=C", "--no-sync",
			}
		},
		serve: func(dir string) []string {
			return append([]string{
				daemon, "-D", filepath.Join(dir, "data"), "-c", "unix_socket_directories=" + dir,
			}, words(postgresSettings, "-c")...)
		},
		signal: "QUIT", // immediate shutdown: the postmaster ends its children
		dsn: func(dir, _ string) string {
			return "postgres:///postgres?host=" + url.QueryEscape(dir) + "&user=postgres&sslmode=disable"
		},
	}, nil
}

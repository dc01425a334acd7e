package server

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

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
	// template0 has no sessions, which CREATE DATABASE would wait for.
	create: `CREATE DATABASE "%s" TEMPLATE template0`,
	drop: func(ctx context.Context, admin *sql.DB, database string) error {
		_, err := admin.ExecContext(ctx, fmt.Sprintf(`DROP DATABASE "%s" WITH (FORCE)`, database))
		return err
	},
}

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
			words := []string{daemon, "-D", filepath.Join(dir, "data")}
			settings := []string{
				"listen_addresses=",
				"unix_socket_directories=" + dir,
				"max_connections=600",
				"max_prepared_transactions=10",
				"shared_buffers=64MB",
				"logging_collector=off",
				"jit=off", // compiling queries of new catalogs takes longer than they do
			}
			if !Durable() {
				settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
			}
			for _, s := range settings {
				words = append(words, "-c", s)
			}
			return words
		},
		signal: "QUIT", // immediate shutdown: the postmaster ends its children
		dsn: func(dir, _ string) string {
			return "postgres:///postgres?host=" + url.QueryEscape(dir) + "&user=postgres&sslmode=disable"
		},
	}, nil
}

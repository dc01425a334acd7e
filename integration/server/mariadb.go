package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-sql-driver/mysql"
)

var mariadb = &engine{
	name:   "MariaDB",
	env:    EnvMySQL,
	driver: "mysql",
	find:   flavored,
	withDatabase: func(dsn, database string) (string, error) {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			return "", err
		}
		c.DBName = database
		return c.FormatDSN(), nil
	},
	create: createMariaDB,
	drop:   dropMariaDB,
}

func createMariaDB(ctx context.Context, admin *sql.DB, database string) error {
	_, err := admin.ExecContext(ctx, fmt.Sprintf("CREATE DATABASE `%s` CHARACTER SET utf8mb4", database))
	return err
}

// dropMariaDB ends the sessions that a test has left in the database first:
// DROP DATABASE would wait for their transactions.
func dropMariaDB(ctx context.Context, admin *sql.DB, database string) error {
	rows, err := admin.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = ?", database)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sessions []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		sessions = append(sessions, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range sessions {
		_, err := admin.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
		if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == errNoSuchThread {
			continue
		}
		if err != nil {
			return err
		}
	}
	_, err = admin.ExecContext(ctx, fmt.Sprintf("DROP DATABASE `%s`", database))
	return err
}

const errNoSuchThread = 1094

func mariadbLayout() (layout, error) {
	dirs := []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
	install, err := find([]string{"mariadb-install-db"}, dirs)
	if err != nil {
		return layout{}, err
	}
	daemon, err := find([]string{"mariadbd"}, dirs)
	if err != nil {
		return layout{}, err
	}
	return layout{
		users: []string{"mysql"},
		prepare: func(dir string) []string {
			return append([]string{
				install, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"),
				"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
			}, words(mariadbSettings)...)
		},
		serve: func(dir string) []string {
			return append([]string{
				daemon, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir,
				"--socket=" + filepath.Join(dir, "s"), "--pid-file=" + filepath.Join(dir, "pid"),
			}, words(slices.Concat(innodbServing, mariadbSettings))...)
		},
		signal: "KILL",
		dsn: func(dir, _ string) string {
			return "root@unix(" + filepath.Join(dir, "s") + ")/"
		},
	}, nil
}

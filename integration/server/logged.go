package server

import (
	"os/exec"
	"strings"
	"testing"
)

// logged are servers whose logs other programs can read.
var logged = map[string]*engine{
	"mysql": {
		name: "MariaDB with rows in its binary log", driver: mariadb.driver,
		withDatabase: mariadb.withDatabase, create: mariadb.create, drop: mariadb.drop,
		find: func() (layout, error) {
			return serving(mariadbLayout, "--log-bin=log", "--binlog-format=ROW", "--server-id=1",
				"--log-bin-trust-function-creators=1", "--max-connections=100")
		},
	},
	"postgres": {
		name: "PostgreSQL with wal_level=logical", driver: postgres.driver,
		withDatabase: postgres.withDatabase, create: postgres.create, drop: postgres.drop,
		find: func() (layout, error) {
			return serving(postgresLayout, "-c", "wal_level=logical", "-c", "max_connections=100")
		},
	},
}

// Logged is a new database of MariaDB with rows in its binary log, or of PostgreSQL with wal_level=logical; for "sqlite" a file.
func Logged(t testing.TB, dialect string) string {
	t.Helper()
	if dialect == "sqlite" {
		return SQLite(t)
	}
	return logged[dialect].fresh(t)
}

// StartLogged starts a further server such as Logged has.
func StartLogged(dialect string) (*Instance, error) { return logged[dialect].start() }

// Run runs one of the servers' client programs with input, and returns what it prints.
func Run(t testing.TB, input string, command ...string) string {
	t.Helper()
	program, err := find(command[:1], postgresDirs)
	if err != nil {
		t.Fatalf("%s: %v", command[0], err)
	}
	cmd := exec.CommandContext(t.Context(), program, command[1:]...)
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, errs.String())
	}
	return string(out)
}

package twin

import (
	"database/sql"
	"os"
)

// OpenWrapped opens the wrapped driver with the configuration file.
var OpenWrapped Opener = func(driver, dsn, configPath string) (*sql.DB, error) {
	name := map[string]string{"mysql": "mysql-slotsql", "pgx": "postgres-slotsql", "sqlite": "sqlite3-slotsql"}[driver]
	if err := os.Setenv("SLOTSQL_CONFIG", configPath); err != nil {
		return nil, err
	}
	return sql.Open(name, dsn)
}

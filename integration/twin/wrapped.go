package twin

import (
	"database/sql"
	"os"
	"sync"

	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
)

var environment sync.Mutex

// OpenWrapped opens the wrapped driver as a program does that was not written
// for it: by its name, with the configuration named in the environment. The
// configuration is read by sql.Open, so pairs of parallel tests do not meet.
func OpenWrapped(driver, dsn, configPath string) (*sql.DB, error) {
	name := Wrapped[map[string]string{"mysql": "mysql", "pgx": "postgres", "sqlite": "sqlite"}[driver]]
	for dialect, plain := range Plain {
		if plain == driver {
			name = Wrapped[dialect]
		}
	}
	environment.Lock()
	defer environment.Unlock()
	if err := os.Setenv("SLOTSQL_CONFIG", configPath); err != nil {
		return nil, err
	}
	return sql.Open(name, dsn)
}

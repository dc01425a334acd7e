package twin

import (
	"database/sql"
	"os"
	"sync"

	slotdialect "github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
)

// Wrapping is the dialect that each wrapped driver is registered with.
var Wrapping = map[string]slotdialect.Dialect{"mysql": mysql.Dialect(), "postgres": postgres.Dialect()}

var environment sync.Mutex

// OpenWrapped opens the wrapped driver as a program does that was not written
// for it: by its name, with the configuration named in the environment. The
// configuration is read by sql.Open, so pairs of parallel tests do not meet.
// The driver is the plain one's name.
func OpenWrapped(driver, dsn, configPath string) (*sql.DB, error) {
	var name string
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

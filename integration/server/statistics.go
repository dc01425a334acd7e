package server

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// Servers that remember what they have run, for those tests that ask them: an
// instance of their own, because remembering costs the others time. Where the
// programs are not installed here (the environment names the servers), or a
// library of the distribution is missing, the ordinary server is used: remembers
// reports whether statistics are to be expected.

var remembering = struct {
	mariadb, postgres *engine
	probe             [2]sync.Once
	failed            [2]error
}{
	mariadb: &engine{
		name:         "MariaDB with performance_schema",
		driver:       mariadb.driver,
		withDatabase: mariadb.withDatabase,
		create:       mariadb.create,
		drop:         mariadb.drop,
		find: func() (layout, error) {
			return serving(flavored, "--performance-schema=1", "--max-connections=100")
		},
	},
	postgres: &engine{
		name:         "PostgreSQL with pg_stat_statements",
		driver:       postgres.driver,
		withDatabase: postgres.withDatabase,
		create:       postgres.create,
		drop:         postgres.drop,
		find: func() (layout, error) {
			return serving(postgresLayout, "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=100")
		},
	},
}

// serving is a layout whose server has further options.
func serving(of func() (layout, error), more ...string) (layout, error) {
	l, err := of()
	if err != nil {
		return l, err
	}
	plain := l.serve
	l.serve = func(dir string) []string { return append(plain(dir), more...) }
	return l, nil
}

// MariaDBStatistics is MariaDB with performance_schema, if remembers.
func MariaDBStatistics(t testing.TB) (dsn string, remembers bool) {
	t.Helper()
	return freshRemembering(t, 0, remembering.mariadb, mariadb)
}

// PostgresStatistics is Postgres with pg_stat_statements loaded, if remembers;
// the test runs CREATE EXTENSION.
func PostgresStatistics(t testing.TB) (dsn string, remembers bool) {
	t.Helper()
	return freshRemembering(t, 1, remembering.postgres, postgres)
}

func freshRemembering(t testing.TB, i int, e, ordinary *engine) (string, bool) {
	t.Helper()
	remembering.probe[i].Do(func() {
		e.once.Do(e.open)
		remembering.failed[i] = e.err
	})
	if err := remembering.failed[i]; err != nil {
		_, missing := e.find()
		named := missing != nil && os.Getenv(ordinary.env) != ""
		library := strings.Contains(err.Error(), `could not access file "pg_stat_statements"`)
		if !named && !library {
			t.Fatal(err)
		}
		t.Logf("without statistics: %v", err)
		return ordinary.fresh(t), false
	}
	return e.fresh(t), true
}

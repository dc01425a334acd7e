package server

import (
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOnlyListedSettingsDiffer asks servers which settings they were given, in whatever way: those of settings.go and no others,
// apart from where their files are.
func TestOnlyListedSettingsDiffer(t *testing.T) {
	t.Parallel()
	given := map[*engine]struct {
		listed        []setting
		places, query string
	}{
		postgres: {
			postgresSettings, "unix_socket_directories",
			"SELECT name FROM pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session', 'configuration file')" +
				" UNION ALL SELECT name FROM pg_file_settings WHERE sourcefile NOT LIKE '%/postgresql.conf'",
		},
		mariadb: {
			slices.Concat(innodbServing, mariadbSettings), "basedir datadir tmpdir socket pid_file",
			"SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO')",
		},
	}
	if os.Getenv(EnvFlavor) == "mysql" {
		m := given[mariadb]
		m.places += " secure_file_priv"
		m.listed = slices.Concat(innodbServing, mysqlSettings)
		m.query = "SELECT VARIABLE_NAME FROM performance_schema.variables_info WHERE VARIABLE_SOURCE NOT IN ('COMPILED', 'DYNAMIC')"
		given[mariadb] = m
	}
	for _, e := range ours() {
		in, err := e.start()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Stop()
		db, err := sql.Open(e.driver, in.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		g := given[e]
		allowed := strings.Fields(g.places)
		for _, s := range g.listed {
			name, _, _ := strings.Cut(strings.TrimPrefix(s.text, "--"), "=")
			allowed = append(allowed, strings.ReplaceAll(name, "-", "_"))
		}
		rows, err := db.QueryContext(t.Context(), g.query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		found := 0
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			if found++; !slices.Contains(allowed, strings.ToLower(name)) {
				t.Errorf("%s: %s is not as on a fresh server, and settings.go does not list it", e.name, name)
			}
		}
		if err := rows.Err(); err != nil || found == 0 {
			t.Errorf("%s: %d settings, %v", e.name, found, err)
		}
	}
}

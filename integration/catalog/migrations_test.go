package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// Migrations that create tables, and add columns and indexes, read no definitions, though they name configured tables. The first
// statement after them that needs these reads them.
func TestMigrationsOfCounterTables(t *testing.T) {
	const many = 30
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 1)
		for name, call := range map[string]func(list ...string) []string{
			"one by one":            func(list ...string) []string { return list },
			"each in a transaction": func(list ...string) []string { return append(append([]string{"BEGIN"}, list...), "COMMIT") },
			"in one call":           func(list ...string) []string { return []string{strings.Join(list, ";\n") + ";"} },
		} {
			if name == "in one call" && dialect == "mysql" {
				continue // takes multiStatements
			}
			t.Run(name, func(t *testing.T) {
				r := parent(t, p)
				db := open(t, p, r, counters)
				db.SetMaxOpenConns(1)
				exec(t, db, increment)
				r.asked()
				for i := range many {
					column := fmt.Sprintf("x%d_%d", len(name), i)
					exec(t, db, call("CREATE TABLE IF NOT EXISTS c0 (id INTEGER PRIMARY KEY)",
						fmt.Sprintf("ALTER TABLE c0 ADD COLUMN %s INTEGER DEFAULT 1", column),
						fmt.Sprintf("CREATE INDEX %s_index ON c0 (%s)", column, column))...)
					exec(t, db, fmt.Sprintf("SELECT '%s'", column))
				}
				if _, readings := r.asked(); readings > 1 {
					t.Errorf("definitions were read %d times for %d migrations", readings, many)
				}
				exec(t, db, increment, increment)
				if _, readings := r.asked(); readings > 1 {
					t.Errorf("definitions were read %d times after them", readings)
				}
			})
		}
	})
}

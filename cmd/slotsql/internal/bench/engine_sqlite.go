package bench

import (
	"database/sql/driver"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	slots "github.com/slotsql/slotsql/sqlite"
)

func sqliteEngine() *Engine {
	return &Engine{
		Name:    "sqlite",
		dialect: slots.Dialect(),
		open: func(dsn string, _ dialFunc) (driver.Connector, error) {
			return sqlite.NewConnector(dsn)
		},
		address: func(dsn string) string {
			name, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
			return filepath.Base(name)
		},
		embedded: func(dir string) string {
			return "file:" + filepath.ToSlash(filepath.Join(dir, "bench.db")) +
				"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_pragma=synchronous(NORMAL)"
		},
		serial: "INTEGER PRIMARY KEY",
		// There are no row locks: a transaction that reads before it writes
		// takes the write lock when it begins.
		locking: func(dsn string) string {
			if strings.Contains(dsn, "?") {
				return dsn + "&_txlock=immediate"
			}
			return dsn + "?_txlock=immediate"
		},
		addToSlot: "ON CONFLICT (id, slot) DO UPDATE SET views = views + 1",
		like:      "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ?",
		version:   "SELECT 'SQLite ' || sqlite_version()",
		settings: []settingQuery{
			{"journal_mode", "PRAGMA journal_mode"},
			{
				"synchronous",
				"SELECT CASE synchronous WHEN 0 THEN 'OFF' WHEN 1 THEN 'NORMAL' WHEN 2 THEN 'FULL' ELSE 'EXTRA' END FROM pragma_synchronous",
			},
		},
	}
}

package schema

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// PreferSimpleProtocol has no effect beside DriverName or Conn, plain and wrapped, and the mode in the DSN has: docs/orms.md.
func TestPreferSimpleProtocol(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLOTSQL_CONFIG", path)
	dsn := server.Postgres(t)
	const simple = "&default_query_exec_mode=simple_protocol"
	conn := func(driver string) *sql.DB {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	for name, c := range map[string]struct {
		postgres.Config
		prepares bool
	}{
		"by itself":         {postgres.Config{DSN: dsn}, false},
		"plain, DriverName": {postgres.Config{DSN: dsn, DriverName: twin.Plain["postgres"]}, true},
		"DriverName":        {postgres.Config{DSN: dsn, DriverName: twin.Wrapped["postgres"]}, true},
		"DriverName, DSN":   {postgres.Config{DSN: dsn + simple, DriverName: twin.Wrapped["postgres"]}, false},
		"plain, Conn":       {postgres.Config{Conn: conn(twin.Plain["postgres"])}, true},
		"Conn":              {postgres.Config{Conn: conn(twin.Wrapped["postgres"])}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.PreferSimpleProtocol = true
			g, err := gorm.Open(postgres.New(c.Config), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			db, err := g.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			var n int
			for range 2 { // the second one sees what the first one has prepared
				const own = "SELECT COUNT(*) + ? FROM pg_prepared_statements WHERE statement LIKE '%pg_prepared_statements%'"
				if err := g.Raw(own, 0).Scan(&n).Error; err != nil {
					t.Fatal(err)
				}
			}
			if n > 0 != c.prepares {
				t.Errorf("%d statements are prepared", n)
			}
		})
	}
}

// Package dialect holds the dialects to their conformance suite, on databases of
// their engines.
package dialect

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/sqlite"
)

// open returns a way to open a new database.
func open(driver string, dsn func(*testing.T) string) func(*testing.T) *sql.DB {
	return func(t *testing.T) *sql.DB {
		t.Helper()
		db, err := sql.Open(driver, dsn(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
}

func TestConformance(t *testing.T) {
	for _, o := range []dialecttest.Options{
		{
			Dialect:   mysql.Dialect(),
			Unread:    []string{"JSON_TABLE"},
			Open:      open("mysql", func(t *testing.T) string { return server.MariaDB(t) }),
			Impatient: "SET SESSION innodb_lock_wait_timeout = 1",
			Columns: []dialecttest.Column{
				{
					Definition: "u INT UNSIGNED NOT NULL DEFAULT 3",
					Facts: rewrite.Column{
						Name: "u", Type: "int(10) unsigned", HasDefault: true, Copied: "int unsigned NOT NULL DEFAULT 3",
						NumericType: rewrite.NumericType{Numeric: rewrite.Integer, Unsigned: true, Bits: 32},
					},
				},
				{Definition: "r DOUBLE", Facts: rewrite.Column{Name: "r", Type: "double", Nullable: true, NumericType: rewrite.NumericType{Numeric: rewrite.Float}}},
				{
					Definition: "g BIGINT AS (u * 2) VIRTUAL",
					Facts: rewrite.Column{
						Name: "g", Type: "bigint(20)", Nullable: true, Generated: true, DependsOn: []string{"u"}, NumericType: rewrite.NumericType{Numeric: rewrite.Integer, Bits: 64},
					},
				},
			},
		},
		{
			Dialect:   postgres.Dialect(),
			Open:      open("pgx", func(t *testing.T) string { return server.Postgres(t) }),
			Impatient: "SET lock_timeout = '200ms'",
			Columns: []dialecttest.Column{
				{Definition: "s SMALLINT NOT NULL", Facts: rewrite.Column{Name: "s", Type: "smallint", NumericType: rewrite.NumericType{Numeric: rewrite.Integer, Bits: 16}}},
				{
					Definition: "d NUMERIC(12,2)",
					Facts:      rewrite.Column{Name: "d", Type: "numeric(12,2)", Nullable: true, NumericType: rewrite.NumericType{Numeric: rewrite.Decimal, Precision: 12, Scale: 2}},
				},
				{Definition: "r REAL", Facts: rewrite.Column{Name: "r", Type: "real", Nullable: true, NumericType: rewrite.NumericType{Numeric: rewrite.Float}}},
				{
					Definition: "g INT GENERATED ALWAYS AS (s + 1) STORED",
					Facts: rewrite.Column{
						Name: "g", Type: "integer", Nullable: true, Generated: true, DependsOn: []string{"s"}, NumericType: rewrite.NumericType{Numeric: rewrite.Integer, Bits: 32},
					},
				},
			},
		},
		{
			Dialect:   sqlite.Dialect(),
			Open:      open("sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }),
			Impatient: "PRAGMA busy_timeout = 100",
			Columns: []dialecttest.Column{
				{Definition: "r REAL", Facts: rewrite.Column{Name: "r", Type: "REAL", Nullable: true, NumericType: rewrite.NumericType{Numeric: rewrite.Float}}},
				{
					Definition: "g INT AS (r * 2)",
					Facts: rewrite.Column{
						Name: "g", Type: "INT", Nullable: true, Generated: true, DependsOn: []string{"r"}, NumericType: rewrite.NumericType{Numeric: rewrite.Integer, Bits: 64},
					},
				},
			},
		},
	} {
		t.Run(o.Dialect.Name(), func(t *testing.T) { dialecttest.Run(t, o) })
	}
}

package suite

import (
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Types are the Go types that values have when they are scanned into an any, by the types of their columns.
type Types map[string]string

// Values holds what docs/drivers.md says of a parent's values. Literals are those of the columns.
func Values(t *testing.T, literals map[string]string, want Types, driver, dsn string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := Types{}
	for column, literal := range literals {
		table := "v_" + strings.ToLower(column)
		for _, q := range []string{"CREATE TABLE " + table + " (v " + column + ")", "INSERT INTO " + table + " VALUES (" + literal + ")"} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(q, err)
			}
		}
		var v any
		if err := db.QueryRowContext(t.Context(), "SELECT v FROM "+table).Scan(&v); err != nil {
			t.Fatal(err)
		}
		got[column] = fmt.Sprintf("%T", v)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", driver, got, want)
	}
}

// SQLite and Postgres are literals for Values.
var (
	SQLite = map[string]string{
		"NUMERIC": "1.5", "DATETIME": "'2026-01-02 03:04:05'", "DATE": "'2026-01-02'", "BOOLEAN": "1", "BLOB": "x'00'", "TEXT": "'a'",
	}
	Postgres = map[string]string{
		"numeric": "1.5", "timestamptz": "'2026-01-02 03:04:05'", "date": "'2026-01-02'", "boolean": "true", "bytea": "'a'", "text": "'a'",
		"uuid": "'00000000-0000-0000-0000-000000000001'", "jsonb": "'{}'",
	}
)

// SQLiteTypes are those of modernc.org/sqlite.
func SQLiteTypes() Types {
	return Types{
		"NUMERIC": "float64", "DATETIME": "time.Time", "DATE": "time.Time", "BOOLEAN": "int64", "BLOB": "[]uint8", "TEXT": "string",
	}
}

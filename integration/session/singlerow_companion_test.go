package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A table of the empty key with companions: what its triggers do on SQLite holds with
// them, too, and DDL on any table meets triggers that are valid.
func TestSingleRowCompanions(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: unprepared[dialect], Config: `version: 1
auto_migrate: true
tables:
  site: {key: [], counters: {views: {}}, companions: {top: max, low: min}, placement: random}
`, Schema: []string{
			"CREATE TABLE site (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, top INT, low INT, note INT)",
			"CREATE TABLE log (id INT PRIMARY KEY, note INT, more INT)",
			"INSERT INTO site VALUES (1, 10, 5, 5, 0)",
		}})
		max, min := "GREATEST", "LEAST"
		if dialect == "sqlite" {
			max, min = "MAX", "MIN"
		}
		count := "UPDATE site SET views = views + 1, top = " + max + "(top, 9), low = " + min + "(low, 2)"
		one := pinned(t, p)
		for _, q := range []string{
			count, count,
			"ALTER TABLE log DROP COLUMN more", "ALTER TABLE log RENAME COLUMN note TO remark",
			count, "SELECT * FROM site",
			"INSERT INTO site VALUES (2, 0, 1, 1, 0)",
			"SELECT id, views, top, low FROM site ORDER BY id",
			"UPDATE site SET views = views + 1", "DELETE FROM site WHERE id = 1",
			count, "ALTER TABLE site DROP COLUMN note", count,
			"SELECT id, views, top, low FROM site ORDER BY id",
		} {
			one.same(t, twin.Statement{SQL: q})
		}
		final(t, p)
	})
}

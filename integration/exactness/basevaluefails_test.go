package exactness

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestBaseValueFails: an expression that fails for the base value of a row with slots, and not for its
// total, does not fail, in autocommit and in a transaction.
func TestBaseValueFails(t *testing.T) {
	statements := []string{
		"SELECT 100 / c FROM x WHERE id = 1",
		"SELECT id, 100 % c AS rest FROM x WHERE id = 1 AND t = 0",
		"SELECT c * 1000000 FROM x WHERE id = 2",
		"SELECT id FROM x WHERE id = 2 AND c * 1000000 > 3",
		"SELECT 100 / c FROM x WHERE id = 1 FOR UPDATE",
		"SELECT id, 100 / c FROM x WHERE c > 3 ORDER BY c DESC LIMIT 3",
		"SELECT t, MAX(100 / c) FROM x WHERE c > 0 GROUP BY t",
		"UPDATE x SET t = 1 WHERE id = 1 AND 100 / c > 3",
		"UPDATE x SET t = 100 / c WHERE id = 1",
		"UPDATE x SET c = 100 / c WHERE id = 1 AND 100 / c > 3",
		"UPDATE x SET c = c + 1 WHERE id = 1 AND 100 / c > 3",
		"UPDATE x SET c = c - 1 WHERE id = 2 AND c * 1000000 > 3",
		"DELETE FROM x WHERE 100 / c > 3 AND id = 1",
		"UPDATE x SET t = 1 WHERE 100 / c > 3",
		"SELECT c > 5 AND 10 / t > 1 FROM x WHERE id = 3",
		"SELECT c IN (4, 10 / t) FROM x WHERE id = 3",
		"UPDATE x SET t = 1, c = 0 WHERE id = 3 AND c > 5 AND 10 / t > 1",
	}
	twin.Each(t, func(t *testing.T, dialect string) {
		for _, begin := range []string{"", "BEGIN"} {
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema:  []string{"CREATE TABLE x (id INT PRIMARY KEY, c INT NOT NULL, t INT)"},
				Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: connection, slots: 64}\ntables: {x: {counters: {c: {}}}}\n",
			})
			p.Plain.SetMaxOpenConns(1)
			p.Wrapped.SetMaxOpenConns(1)
			same := func(queries ...string) {
				t.Helper()
				for _, q := range queries {
					p.Same(t, twin.Statement{SQL: q})
				}
			}
			for _, q := range statements {
				if dialect == "sqlite" && q == "SELECT 100 / c FROM x WHERE id = 1 FOR UPDATE" {
					continue
				}
				same("DELETE FROM x", "INSERT INTO x VALUES (1, 0, 0), (2, 3000, 0), (3, 6, 0)",
					"UPDATE x SET c = c + 5 WHERE id = 1", "UPDATE x SET c = c - 2999 WHERE id = 2", "UPDATE x SET c = c - 2 WHERE id = 3")
				if begin != "" {
					same(begin, q, "SELECT * FROM x ORDER BY id", "COMMIT")
				} else {
					same(q)
				}
				same("SELECT * FROM x ORDER BY id")
			}
		}
	})
}

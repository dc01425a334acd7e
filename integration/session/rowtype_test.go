package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Upserts and increments of rows with a composite key, written with rows as values and
// with types of rows, and a key that is one.
func TestRowTypes(t *testing.T) {
	statements := map[string][]string{
		"postgres": {
			"INSERT INTO hits (page, day, n) SELECT page, day, n FROM (SELECT (ROW(1, 2, 3, 4)::hits).*) x " +
				"ON CONFLICT (page, day) DO UPDATE SET n = hits.n + EXCLUDED.n",
			"INSERT INTO hits SELECT (ROW(1, 2, 3, 4)::hits).* ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1",
			"INSERT INTO hits SELECT * FROM unnest(ARRAY[ROW(1, 2, 3, 4)::hits]) ON CONFLICT (page, day) DO UPDATE SET n = hits.n + EXCLUDED.n",
			"INSERT INTO hits SELECT * FROM unnest(ARRAY[ROW(1, 2, 3, 4)::hits, ROW(7, 7, 7, 7)::hits]) " +
				"ON CONFLICT (page, day) DO UPDATE SET n = hits.n + EXCLUDED.n",
			"INSERT INTO hits SELECT (r).* FROM (SELECT hits AS r FROM hits WHERE page = 1) x " +
				"ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 1) ON CONFLICT (page, day) DO UPDATE SET (n, m) = ROW(hits.n + 1, EXCLUDED.n)",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 1) ON CONFLICT (page, day) DO UPDATE SET (n) = ROW(hits.n + EXCLUDED.n)",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 1) ON CONFLICT (page, day) DO UPDATE SET (n, m) = (SELECT hits.n + 1, EXCLUDED.n)",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 1) ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1 WHERE ROW(hits.*) IS NOT NULL",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 1) " +
				"ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1 WHERE (hits.page, hits.day) = (EXCLUDED.page, EXCLUDED.day)",
			"UPDATE hits SET n = n + 1 WHERE (page, day) = (1, 2)",
			"UPDATE hits SET n = n + 1 WHERE ROW(page, day) = ROW(1, 2)",
			"UPDATE hits SET n = n + 1 WHERE (page, day) IN ((1, 2), (1, 3))",
			"UPDATE hits SET (n, m) = ROW(n + 1, 3) WHERE page = 1 AND day = 2",
			"UPDATE hits SET (n) = ROW(n + 1) WHERE page = 1 AND day = 2",
			"INSERT INTO pairs (k, n) VALUES (ROW(1, 2), 1) ON CONFLICT (k) DO UPDATE SET n = pairs.n + 1",
			"INSERT INTO pairs (k, n) VALUES ((8, 9)::pair, 1) ON CONFLICT (k) DO UPDATE SET n = pairs.n + EXCLUDED.n",
			"INSERT INTO pairs (k.a, k.b, n) VALUES (1, 2, 1) ON CONFLICT (k) DO UPDATE SET n = pairs.n + 1",
			"UPDATE pairs SET n = n + 1 WHERE k = ROW(1, 2)::pair",
			"UPDATE pairs SET n = n + 1 WHERE (k).a = 1",
			"UPDATE pairs SET n = n + 1 WHERE k = '(1,2)'",
			"UPDATE pairs SET n = 5 WHERE k = ROW(1, 2)::pair",
		},
		"mysql": {
			"INSERT INTO hits (page, day, n) VALUES ROW(1, 2, 3) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
			"INSERT INTO hits (page, day, n) SELECT 1, 2, 3 ON DUPLICATE KEY UPDATE n = hits.n + 1",
			"UPDATE hits SET n = n + 1 WHERE (page, day) = (1, 2)",
			"UPDATE hits SET n = n + 1 WHERE ROW(page, day) = ROW(1, 2)",
			"UPDATE hits SET n = n + 1 WHERE (page, day) IN ((1, 2), (1, 3))",
		},
		"sqlite": {
			"INSERT INTO hits (page, day, n) SELECT 1, 2, 3 WHERE true ON CONFLICT (page, day) DO UPDATE SET (n, m) = (hits.n + 1, excluded.n)",
			"INSERT INTO hits (page, day, n) VALUES (1, 2, 3) ON CONFLICT (page, day) DO UPDATE SET (n, m) = (SELECT hits.n + 1, excluded.n)",
			"UPDATE hits SET n = n + 1 WHERE (page, day) = (1, 2)",
			"UPDATE hits SET n = n + 1 WHERE (page, day) IN (VALUES (1, 2), (1, 3))",
			"UPDATE hits SET (n, m) = (n + 1, 3) WHERE page = 1 AND day = 2",
		},
	}
	each(t, func(t *testing.T, dialect string) {
		ddl := []string{
			"CREATE TABLE hits (page INT NOT NULL, day INT NOT NULL, n INT NOT NULL DEFAULT 0, m INT, PRIMARY KEY (page, day))",
			"INSERT INTO hits VALUES (1, 2, 10, 0), (1, 3, 20, 0)",
		}
		config := "version: 1\nauto_migrate: true\ntables:\n  hits: {counters: {n: {}}, slots: 8, placement: connection}\n"
		totals := []string{"SELECT * FROM hits ORDER BY page, day"}
		if dialect == "postgres" {
			ddl = append(ddl, "CREATE TYPE pair AS (a INT, b INT)", "CREATE TABLE pairs (k pair PRIMARY KEY, n INT NOT NULL)",
				"INSERT INTO pairs VALUES (ROW(1, 2), 10)")
			config += "  pairs: {counters: {n: {}}, slots: 8, placement: connection}\n"
			totals = append(totals, "SELECT k::text, n FROM pairs ORDER BY k")
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: ddl, Config: config, Params: unprepared[dialect]})
		one := pinned(t, p)
		for range 2 {
			for _, query := range statements[dialect] {
				one.same(t, twin.Statement{SQL: "UPDATE hits SET n = n + 100 WHERE page = 1 AND day = 2"})
				one.same(t, twin.Statement{SQL: query})
				for _, total := range totals {
					one.same(t, twin.Statement{SQL: total})
				}
			}
		}
		final(t, p)
	})
}

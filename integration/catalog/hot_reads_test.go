package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// The slot table of a hot row has few rows, and soon many pages of dead ones. A plan that was made while it was small must not scan
// it for each row of a list to see whether that has slots.
func TestHotSlotTableIsNotScannedForEachRow(t *testing.T) {
	t.Parallel()
	dsn := server.Postgres(t)
	plain := openPlain(t, "pgx", dsn)
	exec(t, plain,
		"CREATE TABLE c0 (id BIGINT PRIMARY KEY, author INT NOT NULL, n BIGINT NOT NULL, m BIGINT NOT NULL, at TIMESTAMP)",
		"INSERT INTO c0 SELECT i, i % 1000, i, i FROM generate_series(1, 20000) i",
		"CREATE INDEX ON c0 (author)", "CREATE INDEX ON c0 (n)", "ANALYZE c0")
	parsed, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\n"+
		"tables: {c0: {counters: {n: {}, m: {}}, companions: {at: latest}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open("postgres-slotsql", dsn, slotsql.WithConfig(parsed))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec(t, db, "SELECT n FROM c0 WHERE id = 1") // makes the slot table
	exec(t, plain, "INSERT INTO c0_slots (id, slot, n) SELECT 1, s, 1 FROM generate_series(0, 15) s")
	for _, query := range []string{
		"SELECT id, n, m FROM c0 WHERE author = 7 LIMIT 20",
		"SELECT id, n, m FROM c0 ORDER BY n DESC LIMIT 20",
	} {
		e, err := slotsql.Explain(t.Context(), db, query)
		if err != nil {
			t.Fatal(err)
		}
		plan := twin.Run(t.Context(), plain, twin.Statement{SQL: "EXPLAIN (ANALYZE, TIMING off) " + e.Rewritten.SQL, Mode: twin.Query})
		if plan.Err != nil {
			t.Fatal(plan.Err)
		}
		for _, row := range plan.Sets[0].Rows {
			line := fmt.Sprint(row[0])
			_, after, _ := strings.Cut(line, "loops=")
			var loops int
			if _, err := fmt.Sscanf(after, "%d", &loops); err == nil && loops > 2 && strings.Contains(line, "Seq Scan on c0_slots") {
				t.Errorf("%s: %s", query, line)
			}
		}
		if text := fmt.Sprint(plan.Sets[0].Rows); !strings.Contains(text, "c0_slots") {
			t.Errorf("%s does not look at slots: %s", query, text)
		}
	}
}

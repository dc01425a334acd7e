package postgres

import (
	"database/sql"
	"slices"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql/integration/server"
)

// Functions that the list calls stable are, to the server, immutable or stable, in
// every form of that name, and it is the server's own.
func TestStableFunctions(t *testing.T) {
	db, err := sql.Open("pgx", server.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	volatile := map[string]bool{}
	// Before PostgreSQL 14 a timetz at a named time zone goes by the zone's offset at
	// this moment, which a statement that runs for microseconds sees change twice a year.
	rows, err := db.Query(
		"SELECT proname::text, bool_or(provolatile = 'v' AND NOT (proname = 'timezone' AND 'timetz'::regtype = ANY (proargtypes::oid[]))) " +
			"FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY proname",
	)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var is bool
		if err := rows.Scan(&name, &is); err != nil {
			t.Fatal(err)
		}
		volatile[name] = is
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	grammar := []string{"coalesce", "greatest", "least", "nullif", "extract"} // part of the grammar
	for name := range stable.Functions {
		if is, has := volatile[name]; is || !has && !slices.Contains(grammar, name) {
			t.Errorf("%s: volatile %v, there %v", name, is, has)
		}
	}
}

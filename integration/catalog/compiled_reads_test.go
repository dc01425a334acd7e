package catalog

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

// A read of a sleeping table is not compiled where the server would not compile the application's query, though that is
// expected to cost nearly as much.
func TestSleepingReadsAreNotCompiled(t *testing.T) {
	t.Parallel()
	const rows, above = 100_000, 1.05 // of what the query costs
	target, err := pgx.ParseConfig(server.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	plain := stdlib.OpenDB(*target)
	defer plain.Close()
	exec(t, plain,
		"CREATE TABLE c0 (id INT PRIMARY KEY, author INT NOT NULL, n INT NOT NULL DEFAULT 0)",
		fmt.Sprintf("INSERT INTO c0 SELECT i, i %% 100, i %% 1000 FROM generate_series(1, %d) i", rows),
		"ANALYZE")

	var compiled atomic.Int64
	target = target.Copy()
	target.RuntimeParams["client_min_messages"] = "debug1"
	target.RuntimeParams["jit"] = "on"
	target.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.HasPrefix(n.Message, "probing availability of JIT provider") {
			compiled.Add(1)
		}
	}
	parsed, err := slotsql.Parse([]byte(adaptive(1)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"SELECT SUM(n) FROM c0",
		"SELECT author, SUM(n) FROM c0 GROUP BY author",
		"SELECT id, n FROM c0 ORDER BY n DESC LIMIT 10",
		"SELECT COUNT(*) FROM c0 WHERE n > 900",
		"SELECT n FROM c0 WHERE author = 7",
		"SELECT n * 100.0 / (SELECT SUM(n) FROM c0) FROM c0 WHERE id = 7",
	} {
		var plan string
		if err := plain.QueryRowContext(t.Context(), "EXPLAIN "+query).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(plan, "..")
		var cost float64
		if _, err := fmt.Sscanf(after, "%g", &cost); err != nil {
			t.Fatalf("%s: %v", plan, err)
		}
		limited := target.Copy()
		limited.RuntimeParams["jit_above_cost"] = fmt.Sprint(cost * above)
		db, err := slotsql.OpenDB(stdlib.GetConnector(*limited), engines["postgres"], parsed)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the first reads the catalog
			rows, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := compiled.Swap(0); n > 0 {
			t.Errorf("%s: compiled in %d sessions", query, n)
		}
		exec(t, db, "SET jit_above_cost = 0; "+query)
		if compiled.Swap(0) == 0 {
			t.Error("the server does not say when it compiles")
		}
		db.Close()
	}
}

package catalog

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
)

// No statement of slotsql's own is compiled, with many tables among many others, where the server would
// compile a query that it expects to cost half as much as by default. A session says when it
// looks for the compiler for the first time.
func TestNothingIsCompiled(t *testing.T) {
	t.Parallel()
	const tables, others = 20, 300
	target, err := pgx.ParseConfig(server.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	plain := stdlib.OpenDB(*target)
	defer plain.Close()
	target = target.Copy()
	var schema []string
	for i := range tables {
		schema = append(schema, fmt.Sprintf("CREATE TABLE c%d (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0 CHECK (n > -1000)); INSERT INTO c%d SELECT generate_series(1, 100)", i, i))
	}
	for i := range others {
		schema = append(schema, fmt.Sprintf("CREATE TABLE o%d (id INT PRIMARY KEY, x INT REFERENCES c0)", i))
	}
	exec(t, plain, strings.Join(schema, ";"), "ANALYZE")

	var compiled atomic.Int64
	target.RuntimeParams["client_min_messages"] = "debug1"
	target.RuntimeParams["jit"] = "on"
	target.RuntimeParams["jit_above_cost"] = "50000"
	target.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.HasPrefix(n.Message, "probing availability of JIT provider") {
			compiled.Add(1)
		}
	}
	parsed, err := slotsql.Parse([]byte(golden.WithSlots(config(tables))), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parent := stdlib.GetConnector(*target)
	c, err := slotsql.WrapConnector(parent, engines["postgres"], parsed)
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.OpenDB(parent, engines["postgres"], parsed)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	not := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := compiled.Swap(0); n > 0 {
			t.Errorf("%s: compiled in %d sessions", what, n)
		}
	}
	_, err = slotsql.Migrate(t.Context(), c)
	not("migrate", err)
	exec(t, db, increment, "UPDATE c1 SET n = 7 WHERE id = 2")
	not("statements", nil)
	_, err = slotsql.Check(t.Context(), c)
	not("check", err)
	inspector, err := slotsql.NewInspector(c)
	if err == nil {
		_, err = inspector.Look(t.Context())
		inspector.Close()
	}
	not("status", err)
	_, err = slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{})
	not("roll-up", err)
	_, err = slotsql.Verify(t.Context(), c, slotsql.VerifyOptions{})
	not("verify", err)
	_, err = slotsql.Drain(t.Context(), c, slotsql.DrainOptions{Watch: time.Nanosecond})
	not("drain", err)
	noticed := stdlib.OpenDB(*target)
	defer noticed.Close()
	_, err = doctor.Look(t.Context(), noticed, engines["postgres"], doctor.Options{})
	not("doctor", err)

	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "SET jit_above_cost = 0; SELECT count(*) FROM pg_class WHERE relname > 'a'"); err != nil {
		t.Fatal(err)
	}
	if compiled.Load() == 0 {
		t.Error("the server does not say when it compiles")
	}
}

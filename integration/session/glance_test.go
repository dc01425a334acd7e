package session

import (
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// While nothing changes a look at the definitions is cheap: marks are not read.
func TestGlancesInAnySession(t *testing.T) { glance(t, false) }

// So it is where the server session is any one of a pooler's.
func TestGlancesBehindPooler(t *testing.T) { glance(t, true) }

func glance(t *testing.T, pooled bool) {
	t.Parallel()
	dsn, remembers := server.PostgresStatistics(t)
	if !remembers {
		return // a server that does not count what it runs
	}
	plain, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	execAll(t, plain, "CREATE EXTENSION pg_stat_statements", "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0)",
		"INSERT INTO posts (id) VALUES (1)")
	if pooled {
		dsn = newPooler(t, dsn, 4)
	}
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables:\n  posts: {counters: {views: {}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := slotsql.OpenConnector(twin.Wrapped["postgres"], dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	calls := func(query string) (n int) {
		t.Helper()
		err := plain.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements"+
			" WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE $1", query).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	marks := func() int { return calls("%WITH RECURSIVE asked%") }
	glances := func() int { return calls("%pg_catalog.array_agg(pg_catalog.to_regclass(a.name)%") }
	increments := func(until func() bool) {
		t.Helper()
		for began := time.Now(); !until(); time.Sleep(10 * time.Millisecond) {
			execAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1")
			if time.Since(began) > time.Minute {
				t.Fatalf("%d glances, %d times marks", glances(), marks())
			}
		}
	}
	read := 0
	for tries := 1; ; tries++ { // the server may forget for other reasons what it has kept
		before, glanced := marks(), glances()
		increments(func() bool { return glances() >= glanced+3 })
		if read = marks(); read > 0 && read == before {
			break
		}
		if tries == 5 {
			t.Fatalf("marks were read %d times, and %d times during three looks while nothing changed", before, read-before)
		}
	}
	execAll(t, plain, "ALTER TABLE posts ADD COLUMN title TEXT")
	increments(func() bool { return marks() > read })
}

package catalog

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// looks counts the looks since the last call.
func (r *recorder) looks() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queries {
		if strings.Contains(q, "AS o(relations") || strings.Contains(q, "SHOW GLOBAL STATUS") {
			n++
		}
	}
	r.queries = nil
	return n
}

// Several pools on one database look about as often as one, and each of them notices what another client changes.
func TestSeveralPoolsWatchOnce(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, dialect, 5)
			var parents []*recorder
			var pools []*sql.DB
			for range 3 {
				r := parent(t, p)
				parents, pools = append(parents, r), append(pools, open(t, p, r, counters))
			}
			turns := func(lasting time.Duration) time.Duration {
				began := time.Now()
				for time.Since(began) < lasting {
					for _, db := range pools {
						exec(t, db, increment)
					}
				}
				return time.Since(began)
			}
			turns(2 * time.Second) // until each has looked by itself
			for _, r := range parents {
				r.looks()
			}
			took, looks := turns(6*time.Second), 0
			for _, r := range parents {
				looks += r.looks()
			}
			// A look begins a second after the last one, and each pool looks by itself now and then.
			if most := int(took/time.Second) + 1 + len(pools); looks == 0 || looks > most {
				t.Errorf("%d looks in %v, want at most %d", looks, took, most)
			}

			exec(t, p.Under, "ALTER TABLE c1 ADD COLUMN y INTEGER")
			turns(3 * time.Second)
			for i, r := range parents {
				if _, readings := r.asked(); readings == 0 {
					t.Errorf("pool %d has not noticed the change", i)
				}
			}
		})
	}
}

// beside returns the statements since the last call that are not the application's, and how long the quickest query took.
func (r *recorder) beside() (out []string, quick time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range slices.Concat(r.queries, r.kept) {
		if !strings.Contains(q, "/* app */") {
			out = append(out, q)
		}
	}
	quick, r.queries, r.kept, r.quick = r.quick, nil, nil, 0
	return out, quick
}

// definitions returns how many definitions of tables a MySQL server has opened for all its databases.
func definitions(t *testing.T, p *twin.Pair) (n int) {
	t.Helper()
	if p.Dialect != "mysql" {
		return 0
	}
	var name string
	if err := p.Under.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Opened_table_definitions'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A busy process sends a look a second beside its application's statements, and one that is idle nothing, however many tables
// are configured. A look takes the server a millisecond or two; one that it compiles takes a hundred, however quiet the machine.
func TestStatementsBeside(t *testing.T) {
	const many, others, lasting, compiled = 100, 300, 10 * time.Second, 50 * time.Millisecond
	each(t, func(t *testing.T, dialect string) {
		var schema []string
		for i := range many {
			schema = append(schema, fmt.Sprintf("CREATE TABLE c%d (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", i),
				fmt.Sprintf("INSERT INTO c%d (id) VALUES (1)", i))
		}
		for i := range others {
			schema = append(schema, fmt.Sprintf("CREATE TABLE o%d (id INTEGER PRIMARY KEY, x INTEGER)", i))
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema, Config: adaptive(many)})
		var both sync.WaitGroup
		for _, n := range []int{1, many} {
			r := parent(t, p)
			cfg, err := slotsql.Parse([]byte(adaptive(n)), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			db, err := slotsql.OpenDB(r, engines[dialect], cfg, slotsql.WithoutHooks())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			work := func(lasting time.Duration) time.Duration {
				began := time.Now()
				for time.Since(began) < lasting {
					var sum int
					_, err := db.ExecContext(t.Context(), "UPDATE o0 SET x = x + 1 WHERE id = 1 /* app */")
					if err == nil {
						err = db.QueryRowContext(t.Context(), "SELECT SUM(n) FROM c0 /* app */").Scan(&sum)
					}
					if err != nil {
						t.Error(err)
						return lasting
					}
				}
				return time.Since(began)
			}
			both.Go(func() {
				each := 1
				if dialect == "sqlite" {
					each = 2
				}
				const marks = 4 // once: the connection of a look may have been a minute old
				most := func(took time.Duration) int { return each*(int(took/time.Second)+1) + marks }
				work(lasting) // until the process has looked for slots that others have left, and what has begun with the tables has ended
				r.beside()
				// DDL in other databases of a server may have it forget all that its sessions have kept. So one run of a few has to show it.
				var took time.Duration
				var busy []string
				allowed := 0
				for range 6 {
					before := definitions(t, p)
					took = work(lasting)
					var quick time.Duration
					busy, quick = r.beside()
					if allowed = most(took); quick > compiled {
						t.Errorf("%d tables: each look took %v or more", n, quick)
					}
					if len(busy) <= allowed {
						break
					}
					if definitions(t, p) != before { // others open tables: each look compares marks, which takes three statements
						allowed += 3 * (int(took/time.Second) + 1)
					}
				}
				time.Sleep(lasting) // the application's pause
				if idle, _ := r.beside(); len(idle) > 0 {
					t.Errorf("%d tables, idle: %q", n, idle)
				}
				if len(busy) == 0 || len(busy) > allowed {
					t.Errorf("%d tables, busy for %v: %d statements, want at most %d: %q", n, took, len(busy), allowed, busy)
				}
			})
		}
		both.Wait()
	})
}

func adaptive(n int) string {
	return strings.ReplaceAll(config(n), ", placement: random, slots: 4", "")
}

// While nothing changes a look is a glance, in whatever way the application has pgx send its statements.
func TestGlancesInEveryMode(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn, remembers := server.PostgresStatistics(t)
			if !remembers {
				return // a server that does not count what it runs
			}
			plain := openPlain(t, "pgx", dsn)
			exec(t, plain, "CREATE EXTENSION pg_stat_statements", "CREATE TABLE c0 (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)",
				"INSERT INTO c0 VALUES (1, 0)")
			marks := func() (n int) {
				t.Helper()
				err := plain.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements"+
					" WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE '%WITH RECURSIVE asked%'").Scan(&n)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			target, err := pgx.ParseConfig(dsn + "&default_query_exec_mode=" + mode)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := slotsql.Parse([]byte(golden.WithSlots(config(1))), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			db, err := slotsql.OpenDB(stdlib.GetConnector(*target), engines["postgres"], cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			increments := func(lasting time.Duration) {
				for began := time.Now(); time.Since(began) < lasting; {
					exec(t, db, increment)
				}
			}
			remarked := func(what string) (n int) {
				for was, began := marks(), time.Now(); n <= was; n = marks() {
					increments(100 * time.Millisecond)
					if time.Since(began) > time.Minute {
						t.Fatal(what)
					}
				}
				return n
			}
			exec(t, db, increment)
			before := remarked("its first look did not compare marks")
			increments(4 * time.Second)
			after := marks()
			if after != before || before == 0 {
				t.Errorf("marks were read %d times, then %d times while nothing changed", before, after-before)
			}
			exec(t, plain, "ALTER TABLE c0 ADD COLUMN y INTEGER")
			remarked("a change was not noticed")
		})
	}
}

func openPlain(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/postgres"
)

// sessionThreads lists the system's numbers of the threads or processes that serve sessions of the database, but for the one
// that asks and one other.
var sessionThreads = map[string]struct{ own, others string }{
	"mysql": {"SELECT CONNECTION_ID()", "SELECT TID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID NOT IN (CONNECTION_ID(), ?)"},
	"postgres": {"SELECT pg_backend_pid()", "SELECT pid FROM pg_stat_activity" +
		" WHERE datname = current_database() AND backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), $1)"},
}

// BenchmarkWatch measures what a process costs the server's CPU beside the statements of its application, with 1 and with 100
// configured tables among 1,000 others. The server has to run on this machine.
func BenchmarkWatch(b *testing.B) {
	for _, e := range []struct {
		name, dialect, params string
		open                  func(dsn string, cfg *slotsql.Config) (*sql.DB, error)
	}{
		{"MariaDB", "mysql", "", openWrapped("mysql")},
		{"PostgreSQL", "postgres", "", openWrapped("postgres")},
		{"PostgreSQL-exec", "postgres", "default_query_exec_mode=exec", openWrapped("postgres")},
		{"PostgreSQL-unprepared", "postgres", "default_query_exec_mode=exec", openUnprepared},
	} {
		b.Run(e.name, func(b *testing.B) {
			const many, others = 100, 1000
			o := twin.Options{Dialect: e.dialect, Config: watched(many), Params: e.params}
			for i := range many {
				o.Schema = append(o.Schema, fmt.Sprintf("CREATE TABLE c%d (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", i))
			}
			for i := range others {
				o.Schema = append(o.Schema, fmt.Sprintf("CREATE TABLE o%d (id INTEGER PRIMARY KEY, x INTEGER)", i))
			}
			p := twin.New(b, o)
			if err := p.Wrapped.PingContext(b.Context()); err != nil { // creates the slot tables
				b.Fatal(err)
			}
			_ = p.Wrapped.Close()
			_ = p.Plain.Close()
			for _, tables := range []int{1, many} {
				b.Run(fmt.Sprintf("%d-tables", tables), func(b *testing.B) { watchCosts(b, p, e.open, tables) })
			}
		})
	}
}

func openWrapped(dialect string) func(string, *slotsql.Config) (*sql.DB, error) {
	return func(dsn string, cfg *slotsql.Config) (*sql.DB, error) {
		return slotsql.Open(twin.Wrapped[dialect], dsn, slotsql.WithConfig(cfg))
	}
}

// openUnprepared wraps a driver that keeps no statements prepared, as lib/pq: pgx's without its own methods.
func openUnprepared(dsn string, cfg *slotsql.Config) (*sql.DB, error) {
	target, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	return slotsql.OpenDB(unprepared{stdlib.GetConnector(*target)}, postgres.Dialect(), cfg)
}

type unprepared struct{ driver.Connector }

func (u unprepared) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return struct { // what lib/pq offers of a connection
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.ExecerContext
		driver.NamedValueChecker
		driver.QueryerContext
	}{
		c, c.(driver.ConnBeginTx), c.(driver.ConnPrepareContext), c.(driver.ExecerContext), c.(driver.NamedValueChecker),
		c.(driver.QueryerContext),
	}, nil
}

func watched(tables int) string {
	config := "version: 1\nauto_migrate: true\ntables:\n"
	for i := range tables {
		config += fmt.Sprintf("  c%d: {counters: {n: {}}}\n", i)
	}
	return config
}

func watchCosts(b *testing.B, p *twin.Pair, open func(string, *slotsql.Config) (*sql.DB, error), tables int) {
	cfg, err := slotsql.Parse([]byte(watched(tables)), "slotsql.yaml")
	if err != nil {
		b.Fatal(err)
	}
	db, err := open(p.WrappedDSN, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var own string
	if err := db.QueryRowContext(b.Context(), sessionThreads[p.Dialect].own).Scan(&own); err != nil {
		b.Fatal(err)
	}
	count := func(lasting time.Duration) {
		for began := time.Now(); time.Since(began) < lasting; time.Sleep(time.Millisecond) {
			if _, err := db.ExecContext(b.Context(), "UPDATE c0 SET n = n + 1 WHERE id = 1"); err != nil {
				b.Fatal(err)
			}
		}
	}
	count(10 * time.Second) // until the process has looked for slots that others have left
	for _, way := range []struct {
		name string
		work func(time.Duration)
	}{{"busy", count}, {"idle", time.Sleep}} {
		b.Run(way.name, func(b *testing.B) {
			const lasting = 10 * time.Second
			for b.Loop() {
				before := cpuOf(b, p.Under, p.Dialect, own)
				way.work(lasting)
				var used time.Duration
				for tid, cpu := range cpuOf(b, p.Under, p.Dialect, own) {
					used += cpu - before[tid]
				}
				b.ReportMetric(float64(used.Microseconds())/lasting.Seconds(), "server-us/s")
			}
		})
	}
}

// cpuOf returns the CPU time that each session beside the application's has used, by its thread.
func cpuOf(b *testing.B, db *sql.DB, dialect, own string) map[string]time.Duration {
	b.Helper()
	used := map[string]time.Duration{}
	for _, tid := range strings.Fields(twin.Rows(b, db, sessionThreads[dialect].others, own)) {
		of, err := os.ReadFile(filepath.Join("/proc", tid, "schedstat"))
		if err != nil {
			b.Fatal(err)
		}
		ns, _, _ := strings.Cut(string(of), " ")
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		used[tid] = time.Duration(n)
	}
	return used
}

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/bench"
	"github.com/slotsql/slotsql/integration/server"
)

// benchDatabases are databases with a table of another program in them, and what
// lists their tables.
var benchDatabases = []struct {
	driver, parent, tables string
	dsn                    func(testing.TB) string
	missing                []string // scenarios that the engine has not
}{
	{"mysql", "mysql", "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()", server.MariaDB, nil},
	{
		"postgres",
		"pgx",
		"SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'",
		server.Postgres,
		nil,
	},
	{"sqlite", "sqlite", "SELECT name FROM sqlite_master", server.SQLite, []string{"skip-locked"}},
}

// stranger makes a table that is none of the benchmark's, with a name that is
// almost one of its own, and returns a check that nothing else is there and
// that it is as it was.
func stranger(t *testing.T, parent, dsn, tables string) (check func()) {
	t.Helper()
	db, err := sql.Open(parent, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range []string{"CREATE TABLE slotsql_bench (id INT NOT NULL, views INT)", "INSERT INTO slotsql_bench VALUES (1, 7), (2, 8)"} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		rows, err := db.Query(tables)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil || !slices.Equal(names, []string{"slotsql_bench"}) {
			t.Errorf("there are %v, %v", names, err)
		}
		var n, id, views int
		if err := db.QueryRow("SELECT COUNT(*), SUM(id), SUM(views) FROM slotsql_bench").Scan(
			&n,
			&id,
			&views,
		); err != nil || n != 2 || id != 3 ||
			views != 15 {
			t.Errorf("%d rows, %d, %d, %v", n, id, views, err)
		}
	}
}

// Every scenario on every engine: exact, and nothing is left.
func TestBench(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("s3cret")
	for _, d := range benchDatabases {
		t.Run(d.driver, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			check := stranger(t, d.parent, dsn, d.tables)
			page := filepath.Join(t.TempDir(), "report.html")
			args := []string{
				"bench", "--preset", "full", "--driver", d.driver, "--dsn", dsn, "--redis", "redis://:s3cret@" + redis.Addr(), "--json", "--html", page,
				"--clients", "4", "--tx", "0,1+1ms", "--reads", "0.3", "--slots", "3", "--keys", "7", "--zipf", "0.9",
				"--duration", "30ms", "--warmup", "5ms", "--runs", "2",
			}
			points := 2
			if d.driver != "sqlite" {
				args = append(args, "--rtt", "0,1ms")
				points = 4
			}
			stdout, stderr, code := command(t, "", args...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			check()
			if strings.Contains(stdout, "s3cret") || strings.Contains(stdout, dsn) {
				t.Error("the report holds a password or a DSN")
			}
			var r struct {
				Schema int
				Points []struct {
					Results []struct {
						Scenario, Outcome, Reason string
						Acknowledged              int64            `json:"acknowledged_increments"`
						Numbers                   *json.RawMessage `json:"numbers"`
					}
				}
			}
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Points) != points || r.Schema != 1 {
				t.Errorf("%d points, want %d", len(r.Points), points)
			}
			acknowledged := map[string]int64{}
			for _, p := range r.Points {
				for _, s := range p.Results {
					acknowledged[s.Scenario] += s.Acknowledged
					missing := slices.Contains(d.missing, s.Scenario) || s.Scenario == "redis" && strings.Contains(s.Reason, "transaction")
					if !missing && (s.Outcome != "exact" || s.Numbers == nil) ||
						missing && (s.Outcome != "not_applicable" || s.Numbers != nil) {
						t.Errorf("%s: %s, %s", s.Scenario, s.Outcome, s.Reason)
					}
				}
			}
			for _, s := range bench.Scenarios() {
				if missing := slices.Contains(d.missing, s.Name); (acknowledged[s.Name] == 0) != missing {
					t.Errorf("%s: %d acknowledged", s.Name, acknowledged[s.Name])
				}
			}
			if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "<h1>") || strings.Contains(string(b), "s3cret") {
				t.Errorf("the page: %d bytes, %v", len(b), err)
			}
		})
	}
	t.Cleanup(func() {
		if keys := redis.DB(0).Keys(); len(keys) > 0 {
			t.Errorf("left in Redis: %v", keys)
		}
	})
}

// An interrupt in the middle leaves nothing, and what was finished is kept.
func TestBenchInterrupted(t *testing.T) {
	for _, d := range benchDatabases {
		t.Run(d.driver, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			check := stranger(t, d.parent, dsn, d.tables)
			plan := bench.Presets["comparison"]
			plan.Scenarios, plan.Clients = []string{"naive", "wrapped"}, []int{2, 3, 4}
			plan.Duration, plan.Warmup, plan.Runs = 2e6, 0, 1
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			progress := func(done, _ int, _ string) {
				if done == 3 { // the last run of the second point begins
					cancel()
				}
			}
			r, err := bench.Run(ctx, bench.Options{Engine: bench.EngineOf(d.driver), DSN: dsn, Plan: plan, Progress: progress})
			if err != nil || !r.Interrupted || len(r.Points) != 2 || r.Points[1].Of("wrapped").Outcome != bench.NotRun ||
				r.Points[0].Of("wrapped").Outcome != bench.Exact {
				t.Errorf("%+v %v", r, err)
			}
			check()
		})
	}
}

// A benchmark that is interrupted while it works says so.
func TestBenchSignal(t *testing.T) {
	for _, d := range benchDatabases {
		t.Run(d.driver, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dsn := d.dsn(t)
			check := stranger(t, d.parent, dsn, d.tables)
			go func() {
				defer cancel()
				db, err := sql.Open(d.parent, dsn)
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				for counters := 0; counters < 2 && ctx.Err() == nil; { // the stranger's and the benchmark's
					query := "SELECT COUNT(*) FROM (" + d.tables + ") all_tables"
					if err := db.QueryRow(query).Scan(&counters); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			var out, errs strings.Builder
			code := run(
				ctx,
				[]string{"bench", "--driver", d.driver, "--dsn", dsn, "--clients", "2", "--duration", "1h"},
				strings.NewReader(""),
				&out,
				&errs,
			)
			if code != exitError || errs.String() != "slotsql: interrupted\n" {
				t.Errorf("%d %s %s", code, &out, &errs)
			}
			check()
		})
	}
}

// A counter that another client changes is not exact: no number, and an exit
// code that says so.
func TestBenchInexact(t *testing.T) {
	for _, d := range benchDatabases {
		t.Run(d.driver, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			check := stranger(t, d.parent, dsn, d.tables)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan bool, 1)
			go func() { done <- meddle(ctx, d.parent, dsn, d.tables) }()
			stdout, stderr, code := command(t, "", "bench", "--driver", d.driver, "--dsn", dsn, "--clients", "2",
				"--scenarios", "naive", "--duration", "4s", "--warmup", "0s", "--runs", "1")
			cancel()
			if !<-done {
				t.Fatal("the counter has not changed")
			}
			if code != exitProblems || stderr != "" ||
				!strings.Contains(stdout, "naive: NOT EXACT, no numbers: 1,000 increments are counted beyond the ") ||
				!strings.Contains(stdout, " naive         -       0     NO\n") {
				t.Errorf("%d\n%s\n%s", code, stdout, stderr)
			}
			check()
		})
	}
}

// meddle adds 1000 to the benchmark's counter, as soon as there is one.
func meddle(ctx context.Context, parent, dsn, tables string) bool {
	db, err := sql.Open(parent, dsn)
	if err != nil {
		return false
	}
	defer db.Close()
	for ctx.Err() == nil {
		var name string
		row := db.QueryRowContext(ctx, "SELECT * FROM ("+tables+") all_tables WHERE name LIKE 'slotsql_bench_%_1'")
		if row.Scan(&name) != nil {
			continue
		}
		if res, err := db.ExecContext(ctx, "UPDATE "+name+" SET views = views + 1000"); err == nil {
			if n, err := res.RowsAffected(); n == 1 && err == nil {
				return true
			}
		}
	}
	return false
}

func TestBenchEmbedded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code := command(t, "", "bench", "--preset", "comparison", "--duration", "10ms", "--warmup", "1ms", "--runs", "1")
	if code != 0 || stderr != "" {
		t.Fatalf("%d %s %s", code, stdout, stderr)
	}
	// The naive scenario may lose units or not, in so short a time.
	for _, want := range []string{"SQLite 3.", " of 1,000,000", "\n       3  ", "\n       6  ", "\n       9  ", "\n      64  ",
		"naive", "for-update", "lock-free", "wrapped", "× lock-free", "p99 ms", "Exact in 1"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("there is no %q in\n%s", want, stdout)
		}
	}
	for line := range strings.Lines(stdout) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("does not fit a terminal of 80 columns: %s", line)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestBenchUsage(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent", "x")
	for _, c := range []struct{ args, stderr string }{
		{"--preset slow", "--preset must be one of comparison, full, quick, sweep, got \"slow\"\n"},
		{"--driver oracle", "--driver must be mysql, postgres or sqlite, got \"oracle\"\n"},
		{"--driver mysql", "--dsn is missing: name the database, with --dsn, --dsn-file or SLOTSQL_DSN\n"},
		{"--dsn x", "--driver is missing: mysql, postgres or sqlite\n"},
		{"--driver sqlite --dsn " + absent, "stat " + absent + ": no such file or directory\n"},
		{"--tx often", "--tx: transaction length \"often\": write a number of statements (4), a time (5ms), or both (1+5ms)\n"},
		{"--clients 0", "clients must be from 1 to 4096, got 0\n"},
		{"--rtt 1ms", "round trip must be 0 on sqlite, which has no network, got 1ms\n"},
		{"--scenarios redis", "scenario redis needs the address of a Redis server\n"},
		{"--scenarios fast", "scenario must be one of naive, "},
		{"--html " + absent, "open " + filepath.Dir(absent)},
		{"--driver postgres --dsn postgres://u:s3cret@127.0.0.1:1/x", "failed to connect"},
		{"--driver mysql --dsn u:s3cret@tcp(127.0.0.1:1)/x", "dial tcp"},
		{"--redis redis://:s3cret@127.0.0.1:1", "redis: "},
		{"--redis redis://:s3cret@host:port:1", "redis: "},
	} {
		stdout, stderr, code := command(t, "", append([]string{"bench"}, strings.Fields(c.args)...)...)
		if code != exitError || stdout != "" || !strings.HasPrefix(stderr, "slotsql: "+c.stderr) || strings.Contains(stderr, "s3cret") {
			t.Errorf("%s: %d\n%s\n%s", c.args, code, stdout, stderr)
		}
	}
}

// The flags' default of one command does not reach another.
func TestBenchDefaultDriver(t *testing.T) {
	if _, stderr, code := command(t, "", "check", "--dsn", "x"); code != exitError || !strings.Contains(stderr, "--driver is missing") {
		t.Errorf("%d %s", code, stderr)
	}
}

// Tables cannot be made: one error, nothing measured.
func TestBenchWithoutRights(t *testing.T) {
	dsn := server.Postgres(t)
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	stdout, stderr, code := command(t, "", "bench", "--driver", "postgres", "--dsn", dsn+separator+"default_transaction_read_only=on")
	if code != exitError || stdout != "" || !strings.Contains(stderr, "read-only transaction") {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
}

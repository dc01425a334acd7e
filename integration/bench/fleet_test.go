package bench

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/examples/forum/forum"
	"github.com/slotsql/slotsql/integration/twin"
)

// A fleet is many processes with few connections each, as a service runs in production. The processes are real: this test binary,
// started again. Plain and wrapped ones take turns, each side alone, and a benchmark reports
//
//	plain-ops/s, wrapped-ops/s   medians over the turns
//	speedup                      median of wrapped/plain: above 1, wrapped is faster
//	plain-p99-ms, wrapped-p99-ms of the process that has the worst one
//	plain-cpu-us/op, wrapped-... processor time of a machine with clients and server on it, for an operation (Linux)

// fleetEnv makes a process of this test binary a worker, see TestMain. It holds a fleetWorker.
const fleetEnv = "SLOTSQL_FLEET_WORKER"

// A fleetWorker is what one process of a fleet is to do.
type fleetWorker struct {
	Dialect, DSN string
	Config       string // the path of a configuration; none for plain
	Connections  int
	Away         time.Duration // round trip to the server
	Load         string        // a key of fleetLoads
}

const fleetRows = 100_000

// fleetConfig names the default placement, since twin adds another one where none is named.
const fleetConfig = "version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: adaptive}\ntables: {pages: {counters: {views: {}}}}\n"

func TestMain(m *testing.M) {
	if spec := os.Getenv(fleetEnv); spec != "" {
		if err := workInFleet(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fleetTurn is what one worker has done in a turn.
type fleetTurn struct {
	Counted int64
	P99     time.Duration
}

// workInFleet opens the connections, says so by a line, and works whenever it reads for how long.
func workInFleet(spec string) error {
	var w fleetWorker
	if err := json.Unmarshal([]byte(spec), &w); err != nil {
		return err
	}
	db, err := w.open()
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(w.Connections)
	db.SetMaxIdleConns(w.Connections)
	s := &side{db: db, dialect: w.Dialect, wrapped: w.Config != ""}
	op := fleetLoads[w.Load](s)
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(fleetTurn{}); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		d, err := time.ParseDuration(in.Text())
		if err != nil {
			return err
		}
		t, err := w.turn(s, op, d)
		if err != nil {
			return err
		}
		if err := out.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

func (w *fleetWorker) open() (*sql.DB, error) {
	var config *slotsql.Config
	if w.Config != "" {
		var err error
		if config, err = slotsql.Load(w.Config); err != nil {
			return nil, err
		}
	}
	if w.Away > 0 {
		return openSlow(w.Dialect, w.DSN, config, w.Away)
	}
	if config == nil {
		return sql.Open(twin.Plain[w.Dialect], w.DSN)
	}
	c, err := slotsql.OpenConnector(twin.Wrapped[w.Dialect], w.DSN, slotsql.WithConfig(config))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// turn works on all connections for a time.
func (w *fleetWorker) turn(s *side, op operation, d time.Duration) (fleetTurn, error) {
	before, end := s.counted.Load(), time.Now().Add(d)
	took, errs := make([][]time.Duration, w.Connections), make([]error, w.Connections)
	var wg sync.WaitGroup
	for i := range w.Connections {
		wg.Go(func() {
			for start := time.Now(); start.Before(end) && errs[i] == nil; start = time.Now() {
				if errs[i] = op(context.Background(), s); twin.Retryable(errs[i]) {
					errs[i] = nil
					continue
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	t := fleetTurn{Counted: int64(len(all))}
	if s.counted.Load() > before {
		t.Counted = s.counted.Load() - before
	}
	if len(all) > 0 {
		t.P99 = all[len(all)*99/100]
	}
	for _, err := range errs {
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// A fleet is the processes of one side.
type fleet struct {
	workers []*exec.Cmd
	in      []*json.Decoder
	start   func(d time.Duration) error
	counted int64
	rates   []float64
	worst   []float64 // p99 in milliseconds
	cpu     time.Duration
}

// startFleet starts n processes and waits until each has opened its database.
func startFleet(b *testing.B, n int, w fleetWorker) *fleet {
	b.Helper()
	spec, err := json.Marshal(w)
	if err != nil {
		b.Fatal(err)
	}
	f := &fleet{}
	var tells []func(string) error
	for range n {
		c := exec.CommandContext(b.Context(), os.Args[0])
		c.Env = append(os.Environ(), fleetEnv+"="+string(spec), "GOMAXPROCS=2")
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = in.Close()
			_ = c.Wait()
		})
		f.workers, f.in = append(f.workers, c), append(f.in, json.NewDecoder(out))
		tells = append(tells, func(s string) error { _, err := in.Write([]byte(s + "\n")); return err })
	}
	f.start = func(d time.Duration) error {
		for _, tell := range tells {
			if err := tell(d.String()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, in := range f.in {
		if err := in.Decode(&fleetTurn{}); err != nil {
			b.Fatalf("a worker has not begun: %v", err)
		}
	}
	return f
}

// turn lets all processes work for a time, and notes what they have done.
func (f *fleet) turn(b *testing.B, d time.Duration, counts bool) {
	b.Helper()
	before, start := busy(b), time.Now()
	if err := f.start(d); err != nil {
		b.Fatal(err)
	}
	var n int64
	var worst time.Duration
	for _, in := range f.in {
		var t fleetTurn
		if err := in.Decode(&t); err != nil {
			b.Fatalf("a worker has ended: %v", err)
		}
		n, worst = n+t.Counted, max(worst, t.P99)
	}
	f.counted += n
	if counts {
		f.rates = append(f.rates, float64(n)/time.Since(start).Seconds())
		f.worst = append(f.worst, float64(worst.Microseconds())/1000)
		f.cpu += (busy(b) - before) / time.Duration(max(n, 1))
	}
}

// busy returns how much processor time this machine has spent on anything; 0 where that is not known.
func busy(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, f := range strings.Fields(line)[1:] {
		if i == 3 || i == 4 { // idle, and waiting for a disk
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// BenchmarkFleet measures fleets: a name has processes x connections.
func BenchmarkFleet(b *testing.B) {
	for _, e := range benchEngines {
		if e.dialect == "sqlite" {
			continue // one process writes at a time
		}
		for _, c := range []struct {
			load                   string
			processes, connections int
			away                   time.Duration
		}{
			{"one", 16, 4, 0},
			{"one", 50, 2, 0},
			{"one", 4, 32, 0},
			{"hold", 16, 4, 0},
			{"own", 16, 4, 0},
			{"zipf", 16, 4, 0},
			{"tx", 1, 32, 0},
			{"tx", 1, 32, 800 * time.Microsecond},
			{"mix", 1, 32, 0},
			{"mix", 1, 32, time.Millisecond},
			{"forum", 8, 4, 0},
			{"forum", 8, 4, time.Millisecond},
			{"viral", 8, 4, time.Millisecond},
		} {
			b.Run(fmt.Sprintf("%s/%s/%dx%d/away=%s", e.name, c.load, c.processes, c.connections, c.away), func(b *testing.B) {
				if b.N == 1 {
					benchFleet(b, c.processes, e.id, fleetWorker{Dialect: e.dialect, Connections: c.connections, Away: c.away, Load: c.load})
				}
			})
		}
	}
}

const (
	fleetTurns  = 4
	fleetTime   = 2 * time.Second
	fleetWarmup = 3 * time.Second
)

func benchFleet(b *testing.B, processes int, id string, w fleetWorker) {
	forums := w.Load == "forum" || w.Load == "viral"
	o := twin.Options{
		Dialect: w.Dialect, Config: fleetConfig,
		Schema: []string{
			"CREATE TABLE pages (id BIGINT PRIMARY KEY, views BIGINT NOT NULL)",
			"CREATE TABLE users (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
			"CREATE TABLE visits (id " + id + ", page_id BIGINT NOT NULL)",
			many("pages", "0", w.Dialect), many("users", "'nobody'", w.Dialect),
		},
	}
	if forums {
		o.Schema, o.Config = forum.Schema(w.Dialect), forum.Config("defaults: {slots: 64, placement: adaptive}\n", true)
	}
	p := twin.New(b, o)
	plain, wrapped := w, w
	plain.DSN, wrapped.DSN, wrapped.Config = p.PlainDSN, p.WrappedDSN, p.ConfigPath
	fleets := [2]*fleet{startFleet(b, processes, plain), startFleet(b, processes, wrapped)}
	for _, f := range fleets {
		f.turn(b, fleetWarmup, false)
	}
	var speedups []float64
	for i := range fleetTurns {
		for k := range fleets {
			fleets[k^i%2].turn(b, fleetTime, true)
		}
		speedups = append(speedups, fleets[1].rates[i]/fleets[0].rates[i])
	}
	for i, name := range []string{"plain", "wrapped"} {
		f := fleets[i]
		b.ReportMetric(median(f.rates), name+"-ops/s")
		b.ReportMetric(slices.Max(f.worst), name+"-p99-ms")
		b.ReportMetric(float64((f.cpu/fleetTurns).Nanoseconds())/1000, name+"-cpu-us/op")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(speedups), "speedup")
	if forums {
		return
	}
	for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
		var views int64
		if err := db.QueryRowContext(b.Context(), "SELECT SUM(views) FROM pages").Scan(&views); err != nil {
			b.Fatal(err)
		}
		if views != fleets[i].counted {
			b.Errorf("wrapped %t: %d increments acknowledged, %d counted", i == 1, fleets[i].counted, views)
		}
	}
}

// many fills a table with rows of a number and a value.
func many(table, value, dialect string) string {
	if dialect == "mysql" {
		return fmt.Sprintf("INSERT INTO %s SELECT seq, %s FROM seq_1_to_%d", table, value, fleetRows)
	}
	return fmt.Sprintf("INSERT INTO %s SELECT n, %s FROM generate_series(1, %d) AS n", table, value, fleetRows)
}

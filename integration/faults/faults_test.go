// Package faults has servers, connections, processes and disks fail while an application counts. Whatever fails, what was
// acknowledged has counted once, what is in doubt at most once, no stock is oversold, and the application goes on without
// being started again, and leaves nothing behind.
//
//	scripts/faults --rounds 200 --engine postgres
package faults

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

var (
	rounds   = flag.Int("faults.rounds", 6, "rounds on each engine")
	first    = flag.Int("faults.first", 1, "the first round")
	seed     = flag.Uint64("faults.seed", 1, "what rounds are drawn from")
	diskFlag = flag.String("faults.disk", "", "a mounted tmpfs for servers and files, which the test may resize")
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(appEnv); spec != "" {
		fmt.Fprintln(os.Stderr, serve(spec))
		os.Exit(1)
	}
	flag.Parse()
	// What drivers and slotsql report of the faults is not of interest, as long as the application goes on.
	_ = mysql.SetLogger(&mysql.NopLogger{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if *diskFlag != "" {
		if err := os.Setenv("TMPDIR", *diskFlag); err != nil { // where servers and files go
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A round is an engine, a load and a fault.
type round struct {
	t        *testing.T
	rand     *rand.Rand
	engine   *engine
	disk     disk
	database string
	plain    string // DSN without slotsql and proxy
	proxy    *proxy
	app      *app
	ledger   *ledger
	breaks   int // how often something was broken that leaves clients in doubt
}

func TestFaults(t *testing.T) {
	if *diskFlag == "" {
		t.Log("no round with a full disk: scripts/faults mounts one")
	}
	for _, name := range everyone {
		t.Run(name, func(t *testing.T) {
			if name == "galera" {
				server.NeedsGalera(t)
			}
			e := start(t, name)
			for n := *first; n < *first+*rounds; n++ {
				t.Run(fmt.Sprint(n), func(t *testing.T) { play(t, e, n) })
			}
		})
	}
}

// choose returns the fault of a round, and its chance. Each fault comes once in as many rounds as there are, in an order of
// its own.
func choose(name string, n int) (fault, *rand.Rand) {
	some := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return !slices.Contains(f.engines, name) || f.name == diskFull && *diskFlag == ""
	})
	cycle := rand.New(rand.NewPCG(*seed, uint64(n/len(some))))
	cycle.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[n%len(some)], rand.New(rand.NewPCG(*seed, uint64(n)))
}

// most is how many statements may be prepared in a connection: the clients' and slotsql's own.
const most = 100

// limit is how long the application may need to go on, on a busy machine.
const limit = time.Minute

func play(t *testing.T, e *engine, n int) {
	f, random := choose(e.name, n)
	before := goroutines()
	clients := 12
	if e.name == "sqlite" {
		clients = 4
	}
	r := &round{t: t, rand: random, engine: e, disk: disk(*diskFlag), database: fmt.Sprintf("round%d", n), ledger: newLedger()}
	defer func() {
		if t.Failed() {
			t.Logf("%s; once more: scripts/faults --engine %s --seed %d --first %d --rounds 1; errors of clients:%s",
				f.name, e.name, *seed, n, r.ledger.errors())
		}
	}()
	r.plain = e.database(t, r.database)
	for _, query := range schema {
		e.ask(t, r.plain, query)
	}
	patience := 10 * time.Second
	if f.name == stalled {
		patience = 2 * time.Second
	}
	r.app = &app{
		Engine: e.name, DSN: r.plain, Clients: clients, Seed: random.Uint64(), Patience: patience, tell: r.ledger.note(0), look: r.look,
	}
	if e.name != "sqlite" {
		r.proxy = newProxy(t)
		r.reach()
		r.app.DSN = e.through(r.proxy, r.database)
	}
	connector, err := r.app.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.app.db.Close()
	ended := make(chan struct{})
	go func() { r.app.run(); close(ended) }()
	took, err := r.strike(f)
	r.app.over.Store(true)
	<-ended
	if err != nil {
		t.Errorf("%s: %v", f.name, err)
	}
	r.gone("sessions in a transaction", func() string { return e.open(t, r.database, false) })
	if n := e.prepared(t); n > int64(clients)*most {
		t.Errorf("%d statements are prepared in %d connections", n, clients)
	}
	acked, doubt, total := r.balance()
	r.audit(connector)
	if err := r.app.db.Close(); err != nil {
		t.Error(err)
	}
	r.gone("sessions", func() string { return e.open(t, r.database, true) })
	if n := e.prepared(t); n > 0 {
		t.Errorf("%d statements are prepared", n)
	}
	r.gone("goroutines", func() string { return leaked(before) })
	fmt.Printf("%5d  %-8s  %-25s  %8d  %5d  %8d  %6d ms\n", n, e.name, f.name, acked, doubt, total, took.Milliseconds())
}

// strike has the fault happen while the application works, and returns how long it needed to go on once that was over.
func (r *round) strike(f fault) (time.Duration, error) {
	if err := r.answered(); err != nil {
		return 0, err
	}
	r.pause(200)
	if err := f.strike(r); err != nil {
		return 0, err
	}
	over := time.Now()
	err := r.answered()
	took := time.Since(over)
	r.pause(200)
	return took, err
}

// answered waits until clients have had answers for each counter.
func (r *round) answered() error {
	before := r.ledger.now()
	for until := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		var waiting []string
		for i, a := range r.ledger.now() {
			if a.answers == before[i].answers {
				waiting = append(waiting, counters[i].change)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("within %v no answer to %s", limit, strings.Join(waiting, "; "))
		}
	}
}

// pause lets up to some milliseconds pass.
func (r *round) pause(most int) { time.Sleep(time.Duration(r.rand.IntN(most*1000)) * time.Microsecond) }

// reach has the proxy reach the engine's node, and nothing else.
func (r *round) reach() {
	r.plain = r.engine.direct(r.t, r.database)
	r.proxy.to(r.engine.address(r.t))
	r.proxy.reset(false)
}

// look reads a counter, which shows what was acknowledged before.
func (r *round) look(ctx context.Context, i int) error {
	c, before := counters[i], r.ledger.now()[i].acked
	var got int64
	err := r.app.db.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", c.column, c.table, c.id)).Scan(&got)
	if err == nil && (got-c.start)*c.sign < before {
		r.ledger.complain("%s %d reads as %d, and %d were acknowledged", c.table, c.id, got, before)
	}
	return err
}

// balance compares totals with what clients were promised.
func (r *round) balance() (acked, doubt, total int64) {
	doubts := 0
	for i, a := range r.ledger.now() {
		c := counters[i]
		query := fmt.Sprintf("SELECT t.%s + COALESCE((SELECT SUM(s.%[1]s) FROM %[2]s_slots s WHERE s.id = t.id), 0) FROM %[2]s t WHERE t.id = %d",
			c.column, c.table, c.id)
		value := number(r.t, r.engine.ask(r.t, r.plain, query))
		got := (value - c.start) * c.sign
		if got < a.acked || got > a.acked+a.doubt {
			r.t.Errorf("%s: %d counted, %d acknowledged and %d in doubt", c.change, got, a.acked, a.doubt)
		}
		if c.sign < 0 && (value < 0 || a.least > 0 && value >= a.least) {
			r.t.Errorf("%s: %d are left, and %d were refused", c.change, value, a.least)
		}
		if c.sum != "" {
			if beside := number(r.t, r.engine.ask(r.t, r.plain, c.sum)); beside != got {
				r.t.Errorf("%s: %d counted, and %d beside", c.change, got, beside)
			}
		}
		acked, doubt, total, doubts = acked+a.acked, doubt+a.doubt, total+got, doubts+a.doubts
	}
	if few := r.app.Clients * (r.breaks + 1); doubts > few {
		r.t.Errorf("%d statements are in doubt, more than %d", doubts, few)
	}
	for _, wrong := range r.ledger.wrong {
		r.t.Error(wrong)
	}
	return acked, doubt, total
}

func number(t *testing.T, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

// audit looks for slots without rows, and for whatever else Verify finds.
func (r *round) audit(c *slotsql.Connector) {
	for _, table := range []string{pages, posts, items, notes} {
		query := fmt.Sprintf("SELECT COUNT(*) FROM %s_slots s WHERE NOT EXISTS (SELECT 1 FROM %[1]s t WHERE t.id = s.id)", table)
		if n := r.engine.ask(r.t, r.plain, query); n != "0" {
			r.t.Errorf("%s: %s slots without a row", table, n)
		}
	}
	reports, err := slotsql.Verify(context.Background(), c, slotsql.VerifyOptions{})
	if err != nil {
		r.t.Errorf("verify: %v", err)
	}
	for _, report := range reports {
		if report.Wrong() > 0 {
			r.t.Errorf("%s: %+v", report.Table, report.Findings)
		}
	}
}

// gone waits until nothing is left of what ends by itself. InnoDB shows transactions as they were for as long as it is asked
// ten times a second.
func (r *round) gone(what string, left func() string) {
	r.t.Helper()
	var now string
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(120 * time.Millisecond) {
		if now = left(); now == "" {
			return
		}
	}
	r.t.Errorf("left behind, %s: %s", what, now)
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+`)

// goroutines are the stacks of all, by their name.
func goroutines() map[string]string {
	b := make([]byte, 4<<20)
	all := map[string]string{}
	for _, stack := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n") {
		all[goroutine.FindString(stack)] = stack
	}
	return all
}

// leaked returns the stacks of goroutines of slotsql, the parent driver and database/sql that have begun since.
func leaked(before map[string]string) string {
	var b strings.Builder
	for name, stack := range goroutines() {
		if before[name] == "" && !strings.Contains(stack, "slotsql/integration/") {
			b.WriteString(stack + "\n")
		}
	}
	return b.String()
}

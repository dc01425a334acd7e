package adoption

import (
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
)

// A fleet is an application: processes that work all the time on one database.
type fleet struct {
	t                         *testing.T
	dialect, dsn, dir, binary string
	rows                      int
	step                      string
	processes                 map[string]*process
	names                     []string
	rollUp                    *daemon
	views                     []tally      // by row
	repeated                  atomic.Int64 // transactions, because of a column that has joined
	ids                       atomic.Int64 // of rows that come and go
	based                     atomic.Bool  // the base values are the totals
	alone                     sync.RWMutex // held shared by who does something
	mu                        sync.Mutex
	moved                     *sync.Cond // a process has gone on, or failed
	failed                    bool
	earlier                   int // operations of processes that are gone
}

// A tally is what increments without a transaction have come to.
type tally struct{ begun, acknowledged atomic.Int64 }

// A process is one of the fleet, with a database handle and a configuration of
// its own.
type process struct {
	name    string
	config  config
	db      *sql.DB
	ended   atomic.Bool
	workers []*worker
	wg      sync.WaitGroup
}

const (
	hot        = 8
	liked      = 7          // initial likes are less
	comingBase = 10_000_000 // ids of rows that come and go
)

var fleetOf = []struct {
	name string
	jobs []job
}{
	{"web 1", []job{(*worker).visitor, (*worker).visitor}},
	{"web 2", []job{(*worker).visitor}},
	{"office", []job{(*worker).clerk}},
	{"auditor", []job{(*worker).auditor}},
	{"legacy", []job{(*worker).visitor, (*worker).corrector}}, // on the plain driver all the time
}

// wrapped are the processes that take slotsql up.
func (f *fleet) wrapped() []string { return []string{"web 1", "web 2", "office", "auditor"} }

func newFleet(t *testing.T, dialect, binary string) *fleet {
	fresh := map[string]func(testing.TB) string{"mysql": server.MariaDB, "postgres": server.Postgres}[dialect]
	f := &fleet{t: t, dialect: dialect, dsn: fresh(t), dir: t.TempDir(), binary: binary, rows: *rowsFlag, processes: map[string]*process{}}
	f.moved = sync.NewCond(&f.mu)
	f.views = make([]tally, f.rows+1)
	f.based.Store(true)
	f.ids.Store(comingBase)
	f.createTables()
	t.Cleanup(f.stop)
	for _, p := range fleetOf {
		f.names = append(f.names, p.name)
		f.start(p.name, plain)
	}
	return f
}

func (f *fleet) createTables() {
	db := f.open(plain)
	defer db.Close()
	identity := map[string]string{"mysql": "AUTO_INCREMENT", "postgres": "GENERATED ALWAYS AS IDENTITY"}[f.dialect]
	statements := []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL, views BIGINT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0, shares INT NOT NULL DEFAULT 0)",
		"CREATE INDEX posts_views ON posts (views)",
		"CREATE TABLE ledger (id BIGINT " + identity + " PRIMARY KEY, post INT NOT NULL, kind INT NOT NULL, n INT NOT NULL)",
		"CREATE INDEX ledger_post ON ledger (post, kind, n)",
	}
	for first := 1; first <= f.rows; first += 1000 {
		var posts, ledger []string
		for id := first; id < first+1000 && id <= f.rows; id++ {
			posts = append(posts, fmt.Sprintf("(%d, 'post %d', %d, %d)", id, id, id%5, id%liked))
			ledger = append(ledger, fmt.Sprintf("(%d, 1, %d)", id, id%liked))
		}
		statements = append(statements, "INSERT INTO posts (id, title, views, likes) VALUES "+strings.Join(posts, ", "),
			"INSERT INTO ledger (post, kind, n) VALUES "+strings.Join(ledger, ", "))
	}
	for _, q := range statements {
		if _, err := db.ExecContext(f.t.Context(), q); err != nil {
			f.t.Fatal(err)
		}
	}
}

// open opens the database as a process with that configuration does.
func (f *fleet) open(c config) *sql.DB {
	f.t.Helper()
	if c.plain() {
		db, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx"}[f.dialect], f.dsn)
		if err != nil {
			f.t.Fatal(err)
		}
		return db
	}
	return sql.OpenDB(f.connector(c))
}

func (f *fleet) connector(c config) *slotsql.Connector {
	f.t.Helper()
	parsed, err := slotsql.Parse([]byte(golden.WithSlots(c.text())), "slotsql.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	name := map[string]string{"mysql": "mysql-slotsql", "postgres": "postgres-slotsql"}[f.dialect]
	out, err := slotsql.OpenConnector(name, f.dsn, slotsql.WithConfig(parsed), slotsql.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// begin names the step that errors are of.
func (f *fleet) begin(step string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step = step
}

// start starts a process.
func (f *fleet) start(name string, c config) {
	f.t.Helper()
	p := &process{name: name, config: c, db: f.open(c)}
	p.db.SetMaxIdleConns(4)
	for _, of := range fleetOf {
		if of.name != name {
			continue
		}
		for i, j := range of.jobs {
			w := newWorker(f, p, i)
			p.workers = append(p.workers, w)
			p.wg.Go(func() { w.work(j) })
		}
	}
	f.mu.Lock()
	f.processes[name] = p
	f.mu.Unlock()
}

// end lets a process finish what it is doing.
func (f *fleet) end(p *process) {
	p.ended.Store(true)
	p.wg.Wait()
	f.mu.Lock()
	for _, w := range p.workers {
		f.earlier += w.done
	}
	f.mu.Unlock()
	if err := p.db.Close(); err != nil {
		f.t.Errorf("%s: close: %v", p.name, err)
	}
}

// rollOut restarts the processes that take slotsql up with another configuration,
// one after another: the new one is there before the old one ends, and all go on
// before the next.
func (f *fleet) rollOut(c config) {
	f.t.Helper()
	for _, name := range f.wrapped() {
		old := f.processes[name]
		f.start(name, c)
		func() {
			defer f.end(old)
			f.goOn()
		}()
	}
}

// stop ends all processes. It may be called again.
func (f *fleet) stop() {
	f.killRollUp()
	for _, name := range f.names {
		if p := f.processes[name]; p != nil {
			f.end(p)
		}
		delete(f.processes, name)
	}
}

// goOn waits until every client has gone on by some operations.
func (f *fleet) goOn() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	goal := map[*worker]int{}
	for _, p := range f.processes {
		for _, w := range p.workers {
			goal[w] = w.done + *turnsFlag
		}
	}
	for w, n := range goal {
		for w.done < n && !f.failed {
			f.moved.Wait()
		}
	}
	if f.failed {
		f.t.FailNow()
	}
}

// advanced is said by a worker after each operation.
func (f *fleet) advanced(w *worker, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.moved.Broadcast()
	if err != nil {
		f.failed = true
		f.t.Errorf("step %q: %s (%q): %s: %v", f.step, w.process.name, w.process.config.mode, twin.Class(err), err)
		if strings.HasPrefix(twin.Class(err), "MySQL 1213") {
			f.t.Log(f.lastDeadlock())
		}
		return false
	}
	w.done++
	return !f.failed
}

// lastDeadlock is what InnoDB knows of it.
func (f *fleet) lastDeadlock() string {
	db := f.open(plain)
	defer db.Close()
	var kind, name, status string
	if err := db.QueryRow("SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status); err != nil {
		return err.Error()
	}
	_, status, _ = strings.Cut(status, "LATEST DETECTED DEADLOCK")
	status, _, _ = strings.Cut(status, "\nTRANSACTIONS\n")
	return status
}

func (f *fleet) operations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.earlier
	for _, p := range f.processes {
		for _, w := range p.workers {
			n += w.done
		}
	}
	return n
}

func (f *fleet) sql(query string) string { return twin.Placeholders(f.dialect, query) }

// pace says how far each client has come, the slowest first.
func (f *fleet) pace() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, p := range f.processes {
		for _, w := range p.workers {
			out = append(out, fmt.Sprintf("%s:%d", p.name, w.done))
		}
	}
	return strings.Join(out, " ")
}

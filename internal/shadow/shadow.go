package shadow

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/tally"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A table with mode shadow is no counter table to the application's
// connections: a statement that names it goes to the parent as it is, and nothing
// else is done on the connection. That a statement has been run is noted here, beside
// it. What would become of it is found out by a second planner, for which the
// tables in shadow are on, and which runs nothing of the application's; and of
// the reads some are run both ways and compared (compare.go).
//
// Both need statements of slotsql's own. On an engine with servers they have a
// connection of their own, which this file opens when there is something to do:
// nothing that they do can be seen in the application's sessions, and no caller
// waits for them. Where one connection writes at a time (SQLite) a second one
// could be in the way of the application's, or see another database; there they
// run on the application's connection when the pool hands it out, before it is
// used, in no transaction. See docs/design/shadow.md.

// Shadower is the shadow of one connector.
type Shadower struct {
	on, dry *session.Shared
	names   *lex.NameIndex // of the tables in shadow
	sample  float64
	begin   []string // of the transaction that two reads are compared in
	end     []string
	inline  bool // it has no connection of its own

	queue  queue
	ctx    context.Context
	cancel context.CancelFunc
	worker sync.WaitGroup

	running  sync.Mutex // held while a job is done
	raw      driver.Conn
	age      link.Age // of raw
	reported bool
	slotted  map[*schema.Table]bool // tables whose slot table has been seen
}

// tracked is a statement that names a table in shadow.
type tracked struct {
	sql  string
	plan atomic.Pointer[verdict] // nil: not known yet

	mu    sync.Mutex
	early uint64 // runs before it was known
	asked bool   // a job is waiting to find out

	failures int
}

// verdict is what is known of a statement.
type verdict struct {
	tally   *counted // nil: it concerns no table in shadow
	tables  []string // concerned
	read    bool     // it would be rewritten, and may be compared
	repeat  lex.Repeat
	changes int64         // of the schema, when it was planned
	logged  atomic.Uint64 // differences
}

// job is a statement to be planned, and to be compared with these arguments.
type job struct {
	stmt    *tracked
	compare bool
	args    []driver.NamedValue
}

const (
	maxShadowJobs  = 64 // more are left out
	maxShadowTries = 3
	shadowPatience = 10 * time.Second // for one job on a connection of its own
	inlinePatience = time.Second      // and on one of the application's
)

// New returns nil when no table is in shadow.
func New(on *session.Shared) *Shadower {
	tables := on.Config.TablesOf(config.ModeShadow)
	if len(tables) == 0 {
		return nil
	}
	dry := on.ForModes(config.ModeOn, config.ModePassive, config.ModeShadow)
	dry.Role.Dry = true
	dry.Hooks.NewNames = func() {
		dry.Untouched.Clear()
		on.Untouched.Clear()
	}
	on.Role.Kin = append(on.Role.Kin, dry.Catalog)
	w := &Shadower{on: on, dry: dry, inline: on.Traits.OneWriter, slotted: map[*schema.Table]bool{}}
	w.sample = on.Config.ShadowSample()
	w.begin, w.end = on.Dialect.OneState()
	w.ctx, w.cancel = context.WithCancel(context.Background())
	var names []string
	for _, t := range tables {
		names = append(names, t.Table)
	}
	w.names = lex.NewNameIndex(names)
	return w
}

var _ session.Shadow = (*Shadower)(nil)

// Planner implements session.Shadow.
func (w *Shadower) Planner() *session.Shared { return w.dry }

// Statement implements session.Shadow: nil for a statement that names no table in
// shadow.
func (w *Shadower) Statement(query string) any {
	named := w.names.In(query)
	if views := w.dry.Names.Views.Load(); views != nil {
		named = named || slices.ContainsFunc(*views, func(name string) bool { return lex.ContainsFold(query, name) })
	}
	if !named && !lex.EscapedNames(w.on.Dialect.LexRules(), query) {
		return nil
	}
	return &tracked{sql: query}
}

// Ran implements session.Shadow: it counts a statement that has run.
func (w *Shadower) Ran(statement any) { w.count(statement.(*tracked)) }

// Queried implements session.Shadow: it counts a query, and compares a sample.
func (w *Shadower) Queried(statement any, args, options []driver.NamedValue) {
	t := statement.(*tracked)
	p := w.count(t)
	if p == nil || !p.read || w.sample < 1 && rand.Float64() >= w.sample {
		return
	}
	if p.repeat.Why != "" {
		p.tally.leave(p.repeat.Why)
		return
	}
	if len(options) > 0 {
		p.tally.leave("the call has options for the parent driver")
		return
	}
	args, ok := keptArgs(args)
	if !ok {
		p.tally.leave("an argument is not a plain value")
		return
	}
	if !w.ask(job{stmt: t, compare: true, args: args}) {
		p.tally.leave("too many other comparisons were waiting")
	}
}

// count returns what is known of the statement; nil when that is nothing yet.
func (w *Shadower) count(t *tracked) *verdict {
	p := t.plan.Load()
	if p != nil && p.changes == w.dry.Noticed.Changes.Load() {
		if p.tally == nil {
			return nil
		}
		p.tally.statements.Add(1)
		return p
	}
	if len(t.sql) > catalog.MaxCachedSQL {
		w.unplanned("a statement of more than 16 KiB").statements.Add(1)
		return nil
	}
	t.mu.Lock()
	t.early++
	ask := !t.asked
	t.asked = true
	t.mu.Unlock()
	if ask && !w.ask(job{stmt: t}) {
		w.known(t, nil)
	}
	return nil
}

// known gives the runs that have been counted so far to what is known of their
// text now; nil when there was no time to find out.
func (w *Shadower) known(t *tracked, p *verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	early := t.early
	t.early, t.asked = 0, false
	if p == nil {
		w.unplanned("too many new statements were waiting").statements.Add(early)
		return
	}
	if p.tally != nil {
		p.tally.statements.Add(early)
	}
	t.plan.Store(p)
}

func (w *Shadower) unplanned(why string) *counted {
	return tallies.Of(tally.Kind{Dialect: w.on.Dialect.Name(), Class: "unplanned", Reason: why})
}

// keptArgs returns arguments that stay as they are when the call has returned.
func keptArgs(args []driver.NamedValue) ([]driver.NamedValue, bool) {
	out := slices.Clone(args)
	for i, a := range args {
		switch v := a.Value.(type) {
		case nil, time.Time:
		case []byte:
			out[i].Value = slices.Clone(v)
		default:
			if k := reflect.TypeOf(v).Kind(); (k < reflect.Bool || k > reflect.Float64) && k != reflect.String {
				return nil, false
			}
		}
	}
	return out, true
}

// ask has a job done soon; false when there are too many.
func (w *Shadower) ask(j job) bool {
	return w.queue.add(j, func() {
		if !w.inline {
			w.worker.Go(w.work)
		}
	})
}

// work does the jobs that there are, on a connection that is kept for the next
// ones.
func (w *Shadower) work() {
	for {
		j, ok := w.queue.next()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(w.ctx, shadowPatience)
		err := w.connected(ctx, func() error { return w.do(ctx, w.raw, j) })
		cancel()
		w.failed(j, err)
	}
}

// connected runs f on the connection; once more on a new one when the server
// has closed it meanwhile.
func (w *Shadower) connected(ctx context.Context, f func() error) (err error) {
	for range 2 {
		if w.raw != nil && w.age.Over() {
			go w.raw.Close() // what is dead may take long to close
			w.raw = nil
		}
		if w.raw == nil {
			if w.raw, err = w.on.Dial(ctx); err != nil {
				w.raw = nil
				return err
			}
			w.age.Begin()
		}
		if err = f(); err == nil {
			w.age.Use()
			return nil
		}
		_ = w.raw.Close() // whatever state it is in
		w.raw = nil
		if !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
	return err
}

// CatchUp implements session.Shadow: where the database has one writer, it plans and
// compares on a connection that has just been taken from the pool.
func (w *Shadower) CatchUp(ctx context.Context, c *session.Conn) {
	if !w.inline || w.queue.waiting.Load() == 0 || c.Facts.HasTemporary() || c.Rare.Any(link.Broken) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inlinePatience)
	defer cancel()
	if c.Session().ExecAll(ctx, w.begin) != nil {
		return // the application has left a transaction open: another time
	}
	for ctx.Err() == nil {
		j, ok := w.queue.next()
		if !ok {
			break
		}
		w.failed(j, w.do(ctx, c.Parent, j))
	}
	if !w.endSnapshot(ctx, c) {
		c.Rare.Set(link.Broken) // the pool takes another one
	}
}

// failed counts a job that has come to nothing.
func (w *Shadower) failed(j job, err error) {
	if err == nil || err == errSnapshotOpen || w.ctx.Err() != nil { // or it is closed
		return
	}
	t := j.stmt
	if p := t.plan.Load(); j.compare && p != nil && p.tally != nil {
		p.tally.fail(err)
		return
	}
	t.mu.Lock()
	t.asked = false // the next run asks again
	if e := link.EngineOf(w.on.Dialect); !e.Retryable(err) {
		t.failures++
	}
	lasting := t.failures >= maxShadowTries
	t.mu.Unlock()
	if lasting {
		w.known(t, &verdict{tally: w.unplanned("planning failed: " + err.Error()), changes: w.dry.Noticed.Changes.Load()})
	}
}

// Close ends the work, and gives up the connection.
func (w *Shadower) Close() {
	if w == nil {
		return
	}
	w.queue.close()
	w.cancel()
	w.worker.Wait()
	if w.raw != nil {
		_ = w.raw.Close()
		w.raw = nil
	}
}

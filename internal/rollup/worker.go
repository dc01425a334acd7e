package rollup

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Worker moves slots into base rows, on a connection of its own. What is
// exact about it is in the dialects' SQL and in each batch being one
// transaction; nothing depends on what the worker remembers.
type Worker struct {
	catalog *catalog.Catalog
	dialect dialect.RollUpper
	Options Options
	holder  string

	Sleep *slots.Sleep // is told of tables that have no slots left; nil for none

	Free   bool // works without a lease, for as long as it lives: two at a time are exact, and this one is to be quick
	Conn   *catalog.View
	state  connState       // of Conn
	lease  lease           // as far as is known
	size   int             // slot rows of a batch
	swept  time.Time       // when slots that hold nothing were last deleted
	noted  time.Time       // when the database was last told of passes
	tables []*schema.Table // what the last pass went over
}

// leaseName is the name of the lease.
const leaseName = "roll-up"

// Batches aim at this time, so that an increment that meets one hardly notices.
const batchAim = 10 * time.Millisecond

// NewWorker returns a worker that is not connected yet. Zero options are filled in
// from the configuration.
func NewWorker(s *catalog.Catalog, o Options) (*Worker, error) {
	o = o.withDefaults(s.Config)
	return &Worker{catalog: s, Options: o, holder: rand.Text(), size: min(firstBatch, o.Batch)}, nil
}

const firstBatch = 100

// Open makes the connection, and returns the tables as they are now.
func (w *Worker) Open(ctx context.Context) (*catalog.Schema, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	return w.catalog.Open(ctx, w.Conn)
}

// connect makes the connection, anew where it is not to be used again.
func (w *Worker) connect(ctx context.Context) error {
	if w.state == connLost || w.Conn != nil && w.Conn.Rare.Any(link.Broken) {
		w.Close()
	}
	if w.Conn != nil && !w.catalog.Traits.OneWriter && w.Conn.Age.Over() {
		old := w.Conn
		go func() { // what is dead may take long to close
			_ = old.Parent.Close()
			old.Kept.Close()
		}()
		w.Conn = nil
		w.Close()
	}
	if w.Conn != nil {
		return nil
	}
	raw, err := w.catalog.Dial(ctx)
	if err != nil {
		return err
	}
	if err := w.catalog.LearnServer(ctx, raw); err != nil {
		_ = raw.Close()
		return err
	}
	w.Conn = catalog.NewOwnView(ctx, w.catalog, raw)
	w.Conn.Age.Begin()
	w.state.open()
	w.dialect = w.catalog.Dialect
	if err = w.Conn.Session().ExecAll(ctx, w.dialect.RollUpSession()); err != nil {
		w.state.lose() // without its settings it would wait for locks as an application does
	}
	return err
}

// Close ends the connection, if there is one. The worker can be used again.
func (w *Worker) Close() {
	if w.Conn != nil {
		w.Conn.Kept.Close()
		_ = w.Conn.Parent.Close()
	}
	w.Conn = nil
	w.state.close()
	w.lease.doubt()
}

// pass goes over all tables once. Slots that hold nothing are deleted first,
// when that is due: those that the pass before has emptied and that are still
// empty.
func (w *Worker) pass(ctx context.Context) (report Report, err error) {
	begun := time.Now()
	report, err = w.over(ctx, func(*schema.Table) bool { return true }, time.Since(w.swept) >= w.Options.Idle)
	if err == nil && report.Held {
		err = w.note(ctx, begun, report)
	}
	return report, err
}

// journals goes over the tables whose slots are a journal, and leaves what holds
// nothing to a pass.
func (w *Worker) journals(ctx context.Context) (report Report, err error) {
	return w.over(ctx, func(t *schema.Table) bool { return t.Counter.Layout == schema.LayoutJournal }, false)
}

// over goes over some of the tables once.
func (w *Worker) over(ctx context.Context, these func(*schema.Table) bool, sweep bool) (report Report, err error) {
	start := time.Now()
	defer func() { report.Took = time.Since(start) }()
	sc, err := w.Open(ctx)
	if err != nil {
		w.state.lose()
		return report, err
	}
	defer w.Conn.Age.Use()
	if len(sc.Counters()) == 0 {
		report.Held = true // over nothing
		return report, nil
	}
	w.tables = sc.Counters()
	if report.Held, err = w.hold(ctx); err != nil || !report.Held {
		if err == nil {
			w.standBy()
		}
		return report, err
	}
	for _, t := range w.tables {
		if !these(t) {
			continue
		}
		tr := Table{Table: t.Name, name: PassName(t)}
		tally := tallyOf(w.catalog.Dialect.Name(), t.Name)
		begun := time.Now()
		err := w.table(ctx, t, sweep, &tr)
		tally.add(tr, err == nil)
		if err == nil {
			tally.measure(tr, begun)
		}
		report.Tables = append(report.Tables, tr)
		if err == nil && w.Sleep != nil && slots.Sleeps(t.Counter) && w.Sleep.Of(t.Counter).Awake() {
			var awake bool
			if awake, err = w.hasSlots(ctx, t); err == nil && !awake {
				w.Sleep.Of(t.Counter).Slept()
			}
		}
		if err != nil {
			if w.Conn.Engine.SchemaChanged(err) {
				w.catalog.Expire()
			}
			if errors.Is(err, errFenced) {
				w.lease.doubt()
				w.standBy()
				report.Held = false
				return report, nil
			}
			return report, err
		}
	}
	if sweep {
		w.swept = start
	}
	if sc.Unslotted.Lacking && w.catalog.Role.Beside {
		w.catalog.Expire() // slot tables may be made at any time
	}
	return report, nil
}

// standBy notes that another worker, or none, rolls up the tables: how old the counts in
// their slots are is no longer known here.
func (w *Worker) standBy() {
	for _, t := range w.tables {
		if v, ok := tallies.Load([2]string{w.catalog.Dialect.Name(), t.Name}); ok {
			v.(*tally).clean.Store(0)
		}
	}
}

func (w *Worker) table(ctx context.Context, t *schema.Table, sweep bool, tr *Table) error {
	if sweep {
		if err := w.Walk(ctx, t, SweepSlots, tr); err != nil {
			return err
		}
		if err := w.Walk(ctx, t, ReclaimSlots, tr); err != nil {
			return err
		}
	}
	return w.Walk(ctx, t, MoveSlots, tr)
}

// Walk does a job for all keys, a batch at a time, in their order.
func (w *Worker) Walk(ctx context.Context, t *schema.Table, job Job, tr *Table) error {
	var after []any
	for {
		keys, all, err := w.Find(ctx, t, job, after)
		if err != nil {
			w.state.lose()
			return err
		}
		for len(keys) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if held, err := w.hold(ctx); err != nil {
				w.state.lose()
				return err
			} else if !held {
				return errFenced
			}
			n, rows := 1, keys[0].Rows
			for job != ReclaimSlots && n < len(keys) && rows+keys[n].Rows <= w.size {
				rows += keys[n].Rows
				n++
			}
			ok, err := w.try(ctx, t, job, keys[:n], rows, tr)
			if err != nil {
				return err
			}
			if !ok {
				continue // with smaller batches
			}
			after, keys = keys[n-1].Values, keys[n:]
		}
		if all {
			return nil
		}
	}
}

// try runs one batch. It returns false when the batch is to be tried again, smaller;
// a batch of one key that fails for long is left for the next pass. Where increments
// of a row never pause, one slot row at a time is moved: some increment has changed one
// of them since the batch began, but not each of them.
//
//nolint:funlen // one decision for each way that a batch ends
func (w *Worker) try(ctx context.Context, t *schema.Table, job Job, keys []Key, rows int, tr *Table) (ok bool, err error) {
	divisible := job == MoveSlots && w.Statements(t, nil).Divisible
	journal := t.Counter.Layout == schema.LayoutJournal
	most := 0
	if divisible && journal {
		most = max(w.size, 2) // two can be merged
	}
	for attempt := 0; ; attempt++ {
		start := time.Now()
		var n batchCount
		least := 0 // one key locks its base row before it looks at any slot row
		if len(keys) > 1 {
			least = rows
		}
		n, err = w.batch(ctx, t, job, keys[0].Values, keys[len(keys)-1].Values, most, least)
		if err == nil {
			took := rows
			if most > 0 {
				took = min(rows, most)
			}
			tr.count(job, n, took)
			if w.Options.Progress != nil && job == MoveSlots {
				w.Options.Progress(took)
			}
			w.pace(time.Since(start), took)
			// There may be more; what has come since is for the next pass.
			if rows -= took; rows > 0 && most > 0 && max(n.done, n.merged) >= most {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				if held, err := w.hold(ctx); err != nil || !held {
					if err != nil {
						w.state.lose()
					}
					return false, cmp.Or(err, errFenced)
				}
				attempt = -1
				continue
			}
			tr.Skipped += max(rows, 0)
			return true, nil
		}
		if errors.Is(err, driver.ErrBadConn) {
			w.state.lose()
		}
		if w.state == connLost || errors.Is(err, errFenced) {
			return false, err
		}
		if errors.Is(err, errProbed) {
			w.size = 1
			return false, nil
		}
		if errors.Is(err, errLeft) {
			if len(keys) > 1 {
				w.size = max(rows/2, 1)
				return false, nil
			}
			job = keepLatest
			continue
		}
		conflict := w.Conn.Engine.Retryable(err)
		if conflict {
			tr.Conflicts++
		} else if w.Conn.Engine.SchemaChanged(err) {
			return false, err
		}
		if len(keys) > 1 {
			w.size = max(rows/2, 1)
			return false, w.Rest(ctx, conflict, attempt)
		}
		if conflict && divisible && !journal && attempt < oneAtATime {
			most = 1
			continue
		}
		if !conflict || attempt >= 3 {
			tr.Skipped += rows
			if !conflict {
				if tr.Err == nil || tr.Err.Error() != err.Error() {
					w.catalog.Log().WarnContext(ctx, "slotsql: slots cannot be rolled up", "table", t.Name, "error", err.Error())
				}
				tr.Errors++
				tr.Err = err
			}
			return true, nil
		}
		if err := w.Rest(ctx, true, attempt); err != nil {
			return false, err
		}
	}
}

// oneAtATime is how often the roll-up of one slot row is tried without a pause.
const oneAtATime = 8

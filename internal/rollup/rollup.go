package rollup

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
)

// Options are the options of a roll-up. A zero field takes its value from the
// configuration, or else a default.
type Options struct {
	// Interval is the time between two passes: 5 s.
	Interval time.Duration
	// Batch is the maximum number of slot rows that a transaction moves, except that the
	// slots of one base row stay together: 1000. Batches become smaller if they take
	// long.
	Batch int
	// Idle is how often slots that hold nothing are deleted: 1 min. A slot row is deleted
	// once it has been empty at least since the previous such pass.
	Idle time.Duration
	// Lease is how long a worker that has crashed keeps others from taking over: 15 s;
	// whole seconds.
	Lease time.Duration
	// Progress, if set, is called after each batch with the number of its slot rows.
	Progress func(rows int)
	// Pass, if set, is called after each pass of RunRollUp.
	Pass func(Report, error)
}

func (o Options) withDefaults(c *config.Config) Options {
	def := func(v *time.Duration, configured, otherwise time.Duration) {
		if *v == 0 {
			*v = configured
		}
		if *v == 0 {
			*v = otherwise
		}
	}
	def(&o.Interval, c.Rollup.Interval, 5*time.Second)
	def(&o.Idle, c.Rollup.Idle, time.Minute)
	def(&o.Lease, 0, 15*time.Second)
	if o.Batch == 0 {
		o.Batch = c.Rollup.Batch
	}
	if o.Batch == 0 {
		o.Batch = 1000
	}
	return o
}

// Report is the result of one pass over the tables.
type Report struct {
	Held   bool          `json:"held"` // false: another worker has the lease
	Tables []Table       `json:"tables"`
	Took   time.Duration `json:"took_ns"`
}

// Table is what a pass did to one table. Numbers are slot rows unless stated
// otherwise.
type Table struct {
	Table     string `json:"table"`
	Moved     int    `json:"moved"`     // into base rows
	Merged    int    `json:"merged"`    // of a journal: put together, because others had the base row locked
	Deleted   int    `json:"deleted"`   // that held nothing
	Orphans   int    `json:"orphans"`   // deleted: their base row has gone
	Skipped   int    `json:"skipped"`   // others had them or their base rows locked, or they could not be moved
	Conflicts int    `json:"conflicts"` // batches undone by a deadlock or a lock timeout
	Errors    int    `json:"errors"`    // base rows whose slots could not be moved for another reason
	Err       error  `json:"-"`         // the last such reason

	name string // of its passes
}

func (t *Table) count(job Job, n batchCount, rows int) {
	switch job {
	case MoveSlots, keepLatest:
		t.Moved += n.done
		t.Merged += n.merged
		t.Skipped += max(rows-n.done-n.merged, 0)
	case SweepSlots:
		t.Deleted += n.done
	case ReclaimSlots:
		t.Orphans += n.done
	}
}

// left reports whether a pass has left counts behind that are not in base rows.
func (t *Table) left() bool { return t.Skipped+t.Merged > 0 }

// Moved is the number of slot rows moved, of all tables.
func (r Report) Moved() (n int) {
	for _, t := range r.Tables {
		n += t.Moved
	}
	return n
}

// Once makes one pass: see slotsql.RollUp.
func Once(ctx context.Context, s *catalog.Catalog, o Options) (Report, error) {
	w, err := NewWorker(s, o)
	if err != nil {
		return Report{}, err
	}
	defer w.Close()
	report, err := w.pass(ctx)
	w.release(ctx)
	return report, err
}

// Run makes passes until ctx is done: see slotsql.RunRollUp.
func Run(ctx context.Context, s *catalog.Catalog, journal <-chan struct{}, o Options) error {
	w, err := NewWorker(s, o)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	w.Run(ctx, nil, journal)
	return nil
}

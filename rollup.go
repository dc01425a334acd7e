package slotsql

import (
	"context"
	"time"
)

// RollUpOptions says how slots are rolled up. What is zero is taken from the
// configuration, or is a default.
type RollUpOptions struct {
	// Interval is the time between two passes: 5 s.
	Interval time.Duration
	// Batch is the most slot rows that a transaction moves, but that the slots
	// of one base row stay together: 1000. Batches are made smaller where they
	// take long.
	Batch int
	// Idle is how often slots that hold nothing are deleted: 1 min. A slot row
	// is deleted when it has been empty since the pass before, at least.
	Idle time.Duration
	// Lease is how long a worker that has gone away keeps others from taking
	// over: 15 s; whole seconds.
	Lease time.Duration
	// Progress, if set, is called after each batch with the number of slot rows
	// it was for.
	Progress func(rows int)
	// Pass, if set, is called after each pass of RunRollUp.
	Pass func(RollUpReport, error)
}

func (o RollUpOptions) withDefaults(c *Config) RollUpOptions {
	def := func(v *time.Duration, configured, otherwise time.Duration) {
		if *v == 0 {
			*v = configured
		}
		if *v == 0 {
			*v = otherwise
		}
	}
	def(&o.Interval, c.rollup.interval, 5*time.Second)
	def(&o.Idle, c.rollup.idle, time.Minute)
	def(&o.Lease, 0, 15*time.Second)
	if o.Batch == 0 {
		o.Batch = c.rollup.batch
	}
	if o.Batch == 0 {
		o.Batch = 1000
	}
	return o
}

// RollUpReport says what a pass has done.
type RollUpReport struct {
	Held   bool          `json:"held"` // false: another worker has the lease
	Tables []RollUpTable `json:"tables"`
	Took   time.Duration `json:"took_ns"`
}

// RollUpTable is what a pass has done with one table. Numbers are of slot rows,
// if nothing else is said.
type RollUpTable struct {
	Table     string `json:"table"`
	Moved     int    `json:"moved"`     // into base rows
	Merged    int    `json:"merged"`    // of a journal: put together, because others had the base row locked
	Deleted   int    `json:"deleted"`   // that held nothing
	Orphans   int    `json:"orphans"`   // deleted: their base row has gone
	Skipped   int    `json:"skipped"`   // others had them or their base rows locked, or they could not be moved
	Conflicts int    `json:"conflicts"` // batches undone by a deadlock or a lock that was not to be had
	Errors    int    `json:"errors"`    // base rows whose slots could not be moved for another reason
	Err       error  `json:"-"`         // the last such reason
}

func (t *RollUpTable) count(job rollUpJob, n batchCount, rows int) {
	switch job {
	case moveSlots, keepLatest:
		t.Moved += n.done
		t.Merged += n.merged
		t.Skipped += max(rows-n.done-n.merged, 0)
	case sweepSlots:
		t.Deleted += n.done
	case reclaimSlots:
		t.Orphans += n.done
	}
}

// Moved is the number of slot rows moved, of all tables.
func (r RollUpReport) Moved() (n int) {
	for _, t := range r.Tables {
		n += t.Moved
	}
	return n
}

// rollUpOnce is slotsql.RollUp.
func rollUpOnce(ctx context.Context, s *catalog, o RollUpOptions) (RollUpReport, error) {
	w, err := newRollUpWorker(s, o)
	if err != nil {
		return RollUpReport{}, err
	}
	defer w.close()
	report, err := w.pass(ctx)
	w.release(context.WithoutCancel(ctx))
	return report, err
}

// runRollUp is slotsql.RunRollUp.
func runRollUp(ctx context.Context, s *catalog, journal <-chan struct{}, o RollUpOptions) error {
	w, err := newRollUpWorker(s, o)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	w.run(ctx, nil, journal)
	return nil
}

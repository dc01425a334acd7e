package upkeep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// DrainOptions are the options of Drain. Zero fields are defaults.
type DrainOptions struct {
	// Tables are names of counter tables; if it is empty, all of them.
	Tables []string
	// Patience is how long Drain keeps trying to lock a table that others have locked:
	// one minute, if it is 0.
	Patience time.Duration
	// Watch is how long Drain looks for new slot rows after the last table has been
	// drained: a second, if it is 0.
	Watch time.Duration
	// Progress, if set, is called with the number of slot rows after each step.
	Progress func(rows int)
}

// DrainReport is what Drain did to one table. Numbers are slot rows.
type DrainReport struct {
	Table string `json:"table"`
	// NoSlots is set for a table that has none, by slots: 0. There is nothing to drain.
	NoSlots bool `json:"no_slots,omitempty"`
	// Moved have been folded into base rows, while increments went on.
	Moved int `json:"moved"`
	// Folded is how many slot rows were added since, or were locked, and have been
	// folded with the table locked.
	Folded int `json:"folded"`
	// Orphans have no base row, and have been deleted.
	Orphans int `json:"orphans"`
	// Refilled is how many slot rows appeared afterwards: applications still count in slots.
	Refilled int `json:"refilled"`
	// Empty is when the table was last seen without slot rows, under a lock that
	// keeps increments out, with none in flight: base values were the totals then. It is zero for a table that has not been drained.
	Empty time.Time     `json:"empty,omitzero"`
	Took  time.Duration `json:"took_ns"`

	stayed int // slot rows that hold nothing and that no drain takes
}

const (
	defaultDrainPatience = time.Minute
	defaultDrainWatch    = time.Second
)

// Drain folds all slots of the tables into their base rows: see slotsql.Drain.
func Drain(ctx context.Context, s *session.Shared, o DrainOptions) ([]DrainReport, error) {
	mover, err := rollup.NewWorker(s.Catalog, rollup.Options{Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	mover.Free = true
	defer mover.Close()
	sc, err := mover.Open(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := catalog.ChosenTables(slices.Concat(sc.Counters(), sc.Unslotted.BySetting), o.Tables)
	if err != nil {
		return nil, err
	}
	var reports []DrainReport
	var tables []*schema.Table
	for _, t := range chosen {
		if t.Counter.Slots > 0 {
			tables = append(tables, t)
		} else {
			reports = append(reports, DrainReport{Table: t.Name, NoSlots: true})
		}
	}
	if o.Patience == 0 {
		o.Patience = defaultDrainPatience
	}
	if o.Watch == 0 {
		o.Watch = defaultDrainWatch
	}
	d := &drainer{mover: mover, shared: s, patience: o.Patience}
	defer d.close()
	for _, t := range tables {
		r := DrainReport{Table: t.Name}
		start := time.Now()
		err := d.table(ctx, t, &r)
		r.Took = time.Since(start)
		reports = append(reports, r)
		if err != nil {
			if mover.Conn.Engine.SchemaChanged(err) {
				s.Expire()
			}
			return reports, fmt.Errorf("slotsql: draining table %s: %w", t.Name, err)
		}
	}
	return reports, d.watch(ctx, tables, reports[len(reports)-len(tables):], o.Watch)
}

// drainer drains whole tables.
type drainer struct {
	mover    *rollup.Worker
	shared   *session.Shared
	patience time.Duration
	conn     *session.Conn
}

// maxMoves bounds the passes before the table is locked: a pass that moves more
// than the one before does not get nearer to the end.
const maxMoves = 5

func (d *drainer) table(ctx context.Context, t *schema.Table, r *DrainReport) error {
	for range maxMoves {
		if moved, err := d.move(ctx, t, r, rollup.ReclaimSlots, rollup.MoveSlots); err != nil {
			return err
		} else if moved < slots.ManyRows/10 {
			break
		}
	}
	if done, err := d.settled(ctx, t, r); err != nil || done {
		return err
	}
	return d.patiently(ctx, func() error {
		folded, err := d.count(ctx, t, rollup.MoveSlots)
		if err == nil {
			r.Folded = folded
			err = d.fold(ctx, t, r)
		}
		return err
	})
}

// move does jobs of the roll-up for the whole table, and returns how many slot rows it has
// moved into base rows.
func (d *drainer) move(ctx context.Context, t *schema.Table, r *DrainReport, jobs ...rollup.Job) (int, error) {
	var tr rollup.Table
	for _, job := range jobs {
		if err := d.mover.Walk(ctx, t, job, &tr); err != nil {
			return 0, err
		}
	}
	r.Moved, r.Orphans = r.Moved+tr.Moved, r.Orphans+tr.Orphans
	return tr.Moved, tr.Err
}

// fold drains the table in a transaction of its own.
func (d *drainer) fold(ctx context.Context, t *schema.Table, r *DrainReport) error {
	var empty time.Time
	err := d.locked(ctx, rewrite.DrainAll(d.shared.Dialect, t), func() error {
		statements := d.mover.Statements(t, nil)
		n, err := d.present(ctx, statements.Find)
		if err == nil && n > 0 {
			err = errNotDrained
		}
		if err == nil {
			r.stayed, err = d.present(ctx, statements.Idle)
		}
		empty = time.Now()
		return err
	})
	if err == nil {
		r.Empty = empty
	}
	return err
}

// open connects, unless there is a connection that can be used.
func (d *drainer) open(ctx context.Context) (err error) {
	if d.conn != nil && d.conn.Rare.Any(link.Broken) {
		d.close()
	}
	if d.conn != nil {
		return nil
	}
	d.conn, err = session.OpenOwn(ctx, d.shared)
	return err
}

// count counts the slot rows that jobs are for.
func (d *drainer) count(ctx context.Context, t *schema.Table, jobs ...rollup.Job) (n int, err error) {
	for _, job := range jobs {
		var after []any
		for all := false; !all; {
			var keys []rollup.Key
			if keys, all, err = d.mover.Find(ctx, t, job, after); err != nil {
				return 0, err
			}
			for _, k := range keys {
				n += k.Rows
				after = k.Values
			}
		}
	}
	return n, nil
}

func (d *drainer) close() {
	if d.conn != nil {
		_ = d.conn.Parent.Close()
		d.conn = nil
	}
}

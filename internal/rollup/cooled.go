package rollup

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/schema"
)

const (
	// cooledPause is between two looks for rows that have cooled. A table falls asleep two of them after its last row has.
	cooledPause = time.Second
	// hotLooks is after how many looks the slots of a table are folded that has hot rows: their rows are counted in slots
	// again, but others have cooled.
	hotLooks = 5
	// cooledPatience is after how many looks in vain the worker ends: other transactions or processes use the slots that are left.
	cooledPatience = 10
)

// Cooled is what FoldCooled has to know of the process.
type Cooled struct {
	Sleep *slots.Sleep
	Hot   func(time.Time) map[string]int // the number of hot rows of each table
}

// FoldCooled folds what is in slots of rows that are no longer hot, and deletes the slots, until the tables with placement adaptive
// have none: they sleep. It works in batches as a roll-up does, under the same lease. It ends when there is nothing left for
// it to do, or when ctx is done. On a server that takes no writes it does nothing.
func FoldCooled(ctx context.Context, c *catalog.Catalog, of Cooled) {
	w, err := NewWorker(c, Options{})
	if err != nil {
		return
	}
	defer w.Close()
	defer w.release(ctx)
	defer of.Sleep.Answer()
	engine := link.EngineOf(c.Dialect)
	vain, failures := 0, 0
	for look := 0; vain < cooledPatience; look++ {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-of.Sleep.Asked():
			asked = true
		case <-time.After(cooledPause << min(failures, 6)):
		}
		left, err := w.foldCooled(ctx, of, look, asked)
		if asked {
			of.Sleep.Answer()
		}
		switch {
		case ctx.Err() != nil || engine.ReadOnly(err):
			return
		case err != nil:
			w.state.lose()
			if failures++; failures == 1 && len(of.Hot(time.Now())) > 0 {
				c.Log().WarnContext(ctx, "slotsql: the slots of rows that are no longer hot could not be folded; this is tried again", "error", err.Error())
			}
			vain++
		case left == cooledNothing:
			return
		case left == cooledRows:
			failures = 0
			vain++
		default:
			failures, vain = 0, 0
		}
	}
}

// cooledLeft is what a look has left.
type cooledLeft int

const (
	cooledNothing cooledLeft = iota
	cooledRows               // slots of rows that are not hot in this process
	cooledHot                // slots of rows that are, or that it has made just now
)

// foldCooled looks once at each table. Asked: a read waits for all slots to be folded, those of hot rows too.
func (w *Worker) foldCooled(ctx context.Context, of Cooled, look int, asked bool) (left cooledLeft, err error) {
	sc, err := w.Open(ctx)
	if err != nil {
		return left, err
	}
	w.tables = sc.Counters()
	hot := of.Hot(time.Now())
	for _, t := range w.tables {
		if !slots.Sleeps(t.Counter) {
			continue
		}
		sleeper := of.Sleep.Of(t.Counter)
		stirred, busy := sleeper.Look(), hot[t.Counter.Slotted()] > 0
		switch {
		case asked:
		case busy && look%hotLooks > 0:
			left = cooledHot
			continue
		case look > 0 && !stirred && !busy && !sleeper.Awake():
			continue
		}
		awake, err := w.settle(ctx, t, busy && !asked)
		switch {
		case err != nil:
			return left, err
		case !awake:
			sleeper.Slept()
		case busy || stirred:
			left = cooledHot
		default:
			sleeper.Woke(slots.WokenByOther)
			sleeper.Look()
			left = max(left, cooledRows)
		}
	}
	return left, nil
}

// settle folds and deletes the slots of a table, and reports whether there are any left. While the table has hot rows, what is
// folded is deleted by a later look, unless it is in use again.
func (w *Worker) settle(ctx context.Context, t *schema.Table, busy bool) (awake bool, err error) {
	if awake, err = w.hasSlots(ctx, t); err != nil || !awake {
		return false, err
	}
	if held, err := w.hold(ctx); err != nil || !held {
		return true, err
	}
	if w.noted.IsZero() {
		if err := w.noteUnknown(ctx); err != nil {
			return true, err
		}
	}
	jobs := []Job{MoveSlots, SweepSlots, ReclaimSlots}
	if busy {
		jobs = []Job{SweepSlots, MoveSlots}
	}
	tr := Table{Table: t.Name}
	for _, job := range jobs {
		if err = w.Walk(ctx, t, job, &tr); err != nil {
			break
		}
	}
	tallyOf(w.catalog.Dialect.Name(), t.Name).add(tr, err == nil)
	if err == errFenced {
		return true, nil
	} else if err != nil {
		if w.Conn.Engine.SchemaChanged(err) {
			w.catalog.Expire()
		}
		return true, err
	}
	return w.hasSlots(ctx, t)
}

// hasSlots reports whether the table does not sleep.
func (w *Worker) hasSlots(ctx context.Context, t *schema.Table) (bool, error) {
	at := w.catalog.Dialect.Quote(t.Counter.SlotTable.Name)
	if schema := t.Counter.SlotTable.Schema; schema != "" {
		at = w.catalog.Dialect.Quote(schema) + "." + at
	} else if t.Schema != "" {
		at = w.catalog.Dialect.Quote(t.Schema) + "." + at
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	rows, err := w.query(ctx, dialect.Step{SQL: "SELECT 1 FROM " + at + " LIMIT 1"}, nil)
	return len(rows) > 0, err
}

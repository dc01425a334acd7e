package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// DrainOptions says what Drain drains.
type DrainOptions struct {
	// Tables are names of counter tables; all of them when it is empty.
	Tables []string
	// Patience is how long Drain tries again to lock a table that others have
	// locked: one minute, if it is 0.
	Patience time.Duration
	// Progress, if set, is called with the number of slot rows after each step.
	Progress func(rows int)
}

// DrainReport says what Drain has done with one table. Numbers are of slot rows.
type DrainReport struct {
	Table string `json:"table"`
	// Moved have been folded into base rows, while increments went on.
	Moved int `json:"moved"`
	// Folded had come since then, or were locked, and have been folded with the
	// table locked.
	Folded int `json:"folded"`
	// Orphans have no base row, and have been deleted.
	Orphans int `json:"orphans"`
	// Refilled have come after that: someone still counts in slots.
	Refilled int           `json:"refilled"`
	Took     time.Duration `json:"took_ns"`
}

const defaultDrainPatience = time.Minute

// Drain folds all slots of tables of a connector of OpenConnector or
// WrapConnector into their base rows. Afterwards the base values are the totals,
// and the plain driver alone is exact, unless somebody goes on to count in slots: the
// report says so.
//
// Slots are moved by a roll-up first, while increments go on. What has come up
// meanwhile is folded in one transaction, which looks before its commit whether
// the slot table is empty; increments wait for it. A table that cannot be locked is
// tried again. An error leaves each table drained or as exact as it was.
func Drain(ctx context.Context, c driver.Connector, o DrainOptions) ([]DrainReport, error) {
	cn, ok := c.(*connector)
	if !ok {
		return nil, errNotOurs
	}
	mover, err := newRollUpWorker(cn.every, cn.parent, RollUpOptions{Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	mover.free = true
	defer mover.close()
	sc, err := mover.open(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := chosenTables(sc.Counters(), o.Tables)
	if err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		o.Patience = defaultDrainPatience
	}
	d := &drainer{mover: mover, shared: cn.every, parent: cn.parent, patience: o.Patience}
	defer d.close()
	var reports []DrainReport
	for _, t := range tables {
		r := DrainReport{Table: t.Name}
		start := time.Now()
		err := d.table(ctx, t, &r)
		r.Took = time.Since(start)
		reports = append(reports, r)
		if err != nil {
			if mover.conn.engine.schemaChanged(err) {
				cn.every.expire()
			}
			return reports, fmt.Errorf("slotsql: draining table %s: %w", t.Name, err)
		}
	}
	return reports, nil
}

// chosenTables finds tables by their names.
func chosenTables(all []*rewrite.Table, names []string) ([]*rewrite.Table, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []*rewrite.Table
	var known []string
	for _, t := range all {
		known = append(known, t.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("slotsql: %q is not a counter table of the configuration: these are %s", name, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// drainer drains whole tables.
type drainer struct {
	mover    *rollUpWorker
	shared   *shared
	parent   driver.Connector
	patience time.Duration
	conn     *conn
}

// maxMoves bounds the passes before the table is locked: a pass that moves more
// than the one before does not get nearer to the end.
const maxMoves = 5

func (d *drainer) table(ctx context.Context, t *rewrite.Table, r *DrainReport) error {
	for range maxMoves {
		var tr RollUpTable
		for _, job := range []rollUpJob{reclaimSlots, moveSlots} {
			if err := d.mover.walk(ctx, t, job, &tr); err != nil {
				return err
			}
		}
		if tr.Err != nil {
			return tr.Err
		}
		r.Moved, r.Orphans = r.Moved+tr.Moved, r.Orphans+tr.Orphans
		if tr.Moved < manyRows/10 {
			break
		}
	}
	deadline := time.Now().Add(d.patience)
	for attempt := 0; ; attempt++ {
		folded, err := d.full(ctx, t)
		if err == nil {
			r.Folded = folded
			err = d.fold(ctx, t)
		}
		if err == nil {
			break
		}
		if d.conn == nil || !d.conn.engine.retryable(err) || time.Now().After(deadline) {
			return err
		}
		if err := d.mover.rest(ctx, true, attempt); err != nil {
			return err
		}
	}
	n, err := d.full(ctx, t)
	r.Refilled = n
	return err
}

var errNotDrained = errors.New("slot rows are left after a drain: this is an error in slotsql, nothing has been changed")

// fold drains the table in a transaction of its own.
func (d *drainer) fold(ctx context.Context, t *rewrite.Table) error {
	if d.conn != nil && d.conn.broken {
		d.close()
	}
	if d.conn == nil {
		raw, err := d.parent.Connect(ctx)
		if err != nil {
			return err
		}
		d.conn = wrapConn(d.shared, raw)
		if err := d.conn.session.execAll(ctx, d.mover.dialect.DrainSession()); err != nil {
			return err
		}
	}
	p := &plan{Plan: &rewrite.Plan{Class: rewrite.Drain, Drains: []rewrite.DrainTable{rewrite.DrainAll(d.shared.dialect, t)}}}
	return d.conn.inTx(ctx, func() error {
		if _, err := d.conn.run(p, direct{d.conn}, call{}).drain(ctx); err != nil {
			return err
		}
		rows, err := d.conn.session.Query(ctx, d.mover.texts(t, nil, nil).Find.SQL)
		if err == nil && len(rows) > 0 {
			err = errNotDrained
		}
		return err
	})
}

// full counts the slot rows that hold something.
func (d *drainer) full(ctx context.Context, t *rewrite.Table) (n int, err error) {
	var after []any
	for {
		keys, all, err := d.mover.find(ctx, t, moveSlots, after)
		if err != nil {
			return 0, err
		}
		for _, k := range keys {
			n += k.rows
			after = k.values
		}
		if all {
			return n, nil
		}
	}
}

func (d *drainer) close() {
	if d.conn != nil {
		_ = d.conn.parent.Close()
		d.conn = nil
	}
}

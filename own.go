package slotsql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/slotsql/slotsql/rewrite"
)

// A transaction that has counted a row holds the row's lock with the plain
// driver: until it ends nobody else counts the row, and what it reads is its own
// number. Two that count and then read never read the same. Slots let both
// count, and each would read its own increment and not the other's.
//
// So a transaction drains the rows that it has counted before it reads their
// table's counters. From then on it has them for itself, as plain has.
//
// Two transactions that have counted a row and then both drain it wait for each
// other, and one of them is told of a deadlock. So that this does not go on, an
// increment whose transaction has read afterwards locks first from then on: in a
// transaction it drains its row and runs on it, in the plain order of locks.

// ownIncrement is an increment in a slot, of the transaction that is open.
type ownIncrement struct {
	plan *plan
	call call
	all  bool // one of so many that all rows are drained
	// settled says that its row has been drained since, and no savepoint been
	// rolled back to, with which an engine may give up the lock.
	settled bool
}

// maxOwnIncrements is how many increments a transaction remembers; one that has
// more drains whole tables.
const maxOwnIncrements = 256

// counted remembers an increment. Where one connection writes at a time nobody
// else counts before the transaction ends.
func (r *run) counted() {
	c, inc := r.conn, r.plan.Increment
	committed := !c.lasting && !c.strayed && c.shared.sharing && (c.engine.watcher == nil || !c.engine.watcher.ConnInTransaction(c.parent))
	if committed || c.shared.dialect.Traits().OneWriter {
		return
	}
	own := ownIncrement{plan: r.plan, call: r.call}
	k := rowKey{table: inc.SQL}
	var b []byte
	ok := true
	for _, a := range inc.Args {
		if v, has := r.value(a); has && !a.Slot {
			if b, has = appendValue(append(b, ','), v); !has {
				ok = false
			}
		}
	}
	k.values = string(b)
	switch {
	case len(c.own) >= maxOwnIncrements:
		k, own.all = rowKey{table: inc.Table.Counter.SlotTable, values: "all"}, true
	case !ok:
		k.values = strconv.Itoa(len(c.own)) + k.values // as if it were another one
	}
	if c.own == nil {
		c.own = map[rowKey]ownIncrement{}
	}
	c.own[k] = own
}

// settle drains the rows that the transaction has counted of tables that the
// statement reads.
func (r *run) settle(ctx context.Context) error {
	c := r.conn
	if len(c.own) == 0 {
		return nil
	}
	defer c.drained()
	open, err := c.inTransaction(ctx)
	if err != nil {
		return err
	}
	if !open { // they are committed, or gone
		clear(c.own)
		return nil
	}
	var keys []rowKey
	for k, own := range c.own {
		if own.settled {
			continue
		}
		for _, t := range r.plan.Touched {
			if own.plan.Increment.Table.Counter.SlotTable == t.Counter.SlotTable {
				keys = append(keys, k)
				break
			}
		}
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.values, b.values))
	})
	for _, k := range keys {
		own := c.own[k]
		own.plan.readAfter.Store(true)
		d := own.plan.Increment.Row
		if own.all {
			d = rewrite.DrainAll(c.shared.dialect, d.Table)
		}
		p := &plan{Plan: &rewrite.Plan{Class: rewrite.Drain, Increment: own.plan.Increment, Drains: []rewrite.DrainTable{d},
			Reason: "a transaction reads a counter that it has incremented"}, tally: own.plan.tally}
		if _, err := c.run(p, direct{c}, own.call).drain(ctx); err != nil {
			return c.lost(err)
		}
		own.settled = true
		c.own[k] = own
	}
	return nil
}

// unsettle notes that locks may have been given up.
func (c *conn) unsettle() {
	for k, own := range c.own {
		own.settled = false
		c.own[k] = own
	}
}

// locksFirst says that the increment is to lock its row before it counts: it is
// in a transaction, of a kind that reads afterwards.
func (r *run) locksFirst() bool { return r.conn.lasting && r.plan.readAfter.Load() }

// lockFirst drains the increment's row and runs the text on it.
func (r *run) lockFirst(ctx context.Context) (driver.Result, error) {
	if r.plan.Class == rewrite.Additive || r.plan.Increment.Companions {
		return r.execDrained(ctx)
	}
	// The text of an upsert is right for a row that is there as for one that is
	// not. One that is not cannot be locked, and another one may make it; so it
	// is remembered, and drained before it is read.
	own, drained := *r, *r.plan.Plan
	drained.Class, drained.Drains = rewrite.Additive, []rewrite.DrainTable{r.plan.Increment.Row}
	own.plan = &plan{Plan: &drained, tally: r.plan.tally}
	res, err := own.execDrained(ctx)
	if err == nil {
		r.counted()
	}
	return res, err
}

package session

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Guarded decrements in transactions that take from a portion: see rewrite.Portion for what one
// slot proves, and docs/design/escrow.md.
//
// A transaction that has changed the base row keeps it locked until it ends, and all others wait.
// One that takes from a slot only keeps that locked, and the next one takes from another slot.
// What it has taken is a change of a slot row like any other: a rollback gives it back. If the
// slot has too little, or its row is gone, nothing is known, and the statement runs on the base
// row as if there were no portions.

// portion is an execution that takes from a portion.
type portion struct {
	run  *Run
	conn *Conn
	form *rewrite.Portion
	at   slots.SlotRow // the slot whose portion that is
	take taking
}

// taking is what an execution adds to the counters of its slot, in the order of the plan's shares,
// and what is moved to the slot before that. It is the binding of a portion's statements.
type taking struct {
	slot   int64
	deltas []int64
	needs  []int64 // how much of the slot's portion that takes; 0 where it gives
	size   int64
	place  string
}

// bound implements binding.
func (t *taking) bound(a rewrite.Arg) (any, bool) {
	switch {
	case a.Slot:
		return t.slot, true
	case a.Portion == rewrite.PortionDelta:
		return t.deltas[a.Column], true
	case a.Portion == rewrite.PortionNeed:
		return t.needs[a.Column], true
	case a.Portion == rewrite.PortionSize:
		return t.size, true
	case a.Portion != rewrite.NoPortion:
		return t.place, true
	}
	return nil, false
}

// takingOf returns what the execution takes; false if it takes nothing, or cannot take from a
// portion.
func takingOf(r *Run, p *rewrite.Portion) (t taking, ok bool) {
	takes := false
	for i := range p.Shares {
		s := &p.Shares[i]
		n, ok := r.args().Term(s.Delta)
		if !ok || n > s.Max || n < -s.Max {
			return t, false
		}
		need := int64(0)
		if s.Side.Takes(n) {
			need, takes = max(n, -n), true
		}
		t.deltas, t.needs = append(t.deltas, n), append(t.needs, need)
	}
	return t, takes
}

// execPortion runs the statement on a slot. The result is nil if it is to run on the base row.
func execPortion(ctx context.Context, r *Run) (driver.Result, error) {
	pt := &portion{run: r, conn: r.conn, form: r.Plan.Bounded.Portion}
	if pt.form == nil || !takesPortions(r.conn) {
		return nil, nil
	}
	var ok bool
	if pt.take, ok = takingOf(r, pt.form); !ok {
		return nil, nil
	}
	row, keyed := r.Plan.row.of(r)
	if !keyed {
		return nil, nil
	}
	question, ok := baseQuestion(r, pt.form, &pt.take)
	if !ok {
		return nil, nil
	}
	if may, err := pt.mayTakeFromSlot(ctx, row, question); !may || err != nil {
		return nil, err
	}
	if !pt.hold(row) {
		return nil, nil
	}
	if !pt.ensureStock(ctx) {
		return nil, ctx.Err()
	}
	res, n, err := r.execBound(ctx, &pt.form.Take, &pt.take)
	switch {
	case err != nil && r.refusedBase(err): // the slot is at the end of its range
		r.conn.Shared.portions.Pause(row)
		return nil, nil
	case err != nil:
		return nil, err
	case n > 0:
		return pt.took(ctx, question, res)
	}
	pt.noteShort()
	return nil, nil
}

// takesPortions reports whether the session and its transaction are such that statements may
// take from slots.
func takesPortions(c *Conn) bool {
	return c.Shared.OpensAside && !c.Cluster && !c.Rare.Any(link.RoleSet) && !c.Rare.Any(link.RoleUnknown) && c.Ordinary() &&
		!c.snapshotBegun() && sql.IsolationLevel(c.begun) != sql.LevelSerializable
}

// mayTakeFromSlot reports whether the statement may take from a slot of the row: others want the row
// too, and the transaction neither has it to itself nor has to lock it first.
func (pt *portion) mayTakeFromSlot(ctx context.Context, row slots.RowKey, q *question) (bool, error) {
	c, heat, t := pt.conn, row, pt.form.Table
	heat.Node = 0 // nodes of a cluster have the row in common
	if t.Counter.Options.Placement == schema.PlacementAdaptive && !pt.run.holdsHot(heat) {
		if pt.run.standing.Ask {
			pt.run.askHolder(ctx, &pt.run.Plan.Bounded.Row)
		}
		return false, nil
	}
	if pt.hasOtherwise() {
		return false, nil
	}
	if held, err := c.heldToSnapshot(ctx); err != nil || held {
		return false, err
	}
	if first, err := rowChangesOf(pt.run).locksFirst(ctx, &pt.run.Plan.Bounded.Row); err != nil || first != byPlan {
		return false, err
	}
	if err := pt.run.Plan.habit.Await(ctx, &c.trials, row, true); err != nil {
		return false, err
	}
	if q == nil {
		return true, nil
	}
	return c.InTransaction(ctx) // the slot row has to stay locked until the base row is known
}

// noteShort notes that a slot has too little, or is gone. The transaction may still keep
// others from its row, or from its place: InnoDB locks the gap, and PostgreSQL a row that an
// update has waited for, whatever it finds then. A portion moved there now would wait for the
// transaction while it has the base row locked, which the transaction wants next.
func (pt *portion) noteShort() {
	portions := pt.conn.Shared.portions
	portions.NoteShort(pt.at)
	if pt.conn.Shared.Traits.MissLocks {
		portions.Pause(pt.at.Row)
	}
	noteChange(pt.run, &pt.run.Plan.Bounded.Row, changedInSlot)
}

// foldsPortions notes that a drain is about to fold what slots of its rows hold.
func foldsPortions(r *Run, d *rewrite.DrainTable) {
	c := r.conn
	if !c.InAutocommit() {
		if c.folded == nil {
			c.folded = map[string]bool{}
		}
		c.folded[d.Table.Counter.Slotted()] = true
	}
	if s := c.Shared; s.portions.Any() {
		n := rowNameOf(d.Table, d.Key, r.Plan.Values)
		row, known := n.of(r)
		row.Table = n.table
		s.portions.Forget(row, known)
	}
}

// hasOtherwise reports whether the transaction has, or may have, the row to itself, or has changed
// it other than in a slot.
func (pt *portion) hasOtherwise() bool {
	t, c, key := pt.form.Table, pt.conn, pt.run.args().KeyNumbers(&pt.run.Plan.Bounded.Row)
	if c.untied[t.Counter.Slotted()] || c.folded[t.Counter.Slotted()] || rowChangesOf(pt.run).isSlotless(&pt.run.Plan.Bounded.Row) {
		return true
	}
	for _, ch := range c.changed() {
		if ch.of(t) && (ch.how != changedInSlot || ch.drained) && maybeSame(ch.key, key) {
			return true
		}
	}
	return false
}

// hasCounted reports whether the transaction has changed slots of the row.
func (pt *portion) hasCounted() bool {
	t, key := pt.form.Table, pt.run.args().KeyNumbers(&pt.run.Plan.Bounded.Row)
	for _, ch := range pt.conn.changed() {
		if ch.of(t) && maybeSame(ch.key, key) {
			return true
		}
	}
	return false
}

// hold chooses the slot for a transaction, which holds it until it ends; false if other
// transactions hold all of them.
func (pt *portion) hold(row slots.RowKey) bool {
	c, n := pt.conn, pt.form.Table.Counter.Slots
	i := c.holdSlot(row, n)
	if i < 0 {
		return false
	}
	pt.at = slots.SlotRow{Row: row, Slot: c.node.Range.Slot(i, n)}
	pt.take.slot = pt.at.Slot
	pt.run.added.slot = pt.at.Slot // for the change that is remembered
	return true
}

// ensureStock reports whether the slot is believed to hold enough, if necessary after more has
// been moved to it. Nothing can be moved to a slot that the transaction itself has changed.
func (pt *portion) ensureStock(ctx context.Context) bool {
	portions := pt.conn.Shared.portions
	for i, need := range pt.take.needs {
		if need == 0 {
			continue
		}
		column := pt.form.Shares[i].Column
		n, paused := portions.Holds(pt.at, column)
		if n < need && !paused && !pt.hasCounted() {
			pt.restock(ctx, i)
			n, _ = portions.Holds(pt.at, column)
		}
		if n < need {
			return false
		}
	}
	pt.take.place = portions.Place(pt.at.Row)
	return true
}

// took is called when a statement has taken from its slot, whose row the transaction has
// locked by that.
func (pt *portion) took(ctx context.Context, q *question, res driver.Result) (driver.Result, error) {
	portions := pt.conn.Shared.portions
	for i, need := range pt.take.needs {
		portions.NoteTaken(pt.at, pt.form.Shares[i].Column, need)
	}
	noteChange(pt.run, &pt.run.Plan.Bounded.Row, changedInSlot)
	if q != nil && !pt.baseHolds(ctx, q) {
		portions.Pause(pt.at.Row)
		return nil, cmp.Or(pt.putBack(context.WithoutCancel(ctx)), ctx.Err())
	}
	pt.run.Plan.tally.slotted.Add(1)
	return &result{res, 1}, nil
}

// putBack gives back what has been taken. No other session can have changed the slot since.
func (pt *portion) putBack(ctx context.Context) error {
	back := pt.take
	back.deltas = slices.Clone(back.deltas)
	for i := range back.deltas {
		back.deltas[i] *= -1
	}
	_, n, err := pt.run.execBound(ctx, &pt.form.Take, &back)
	if err == nil && n == 0 {
		err = errNotPutBack
	}
	if err != nil && !pt.conn.Engine.TxEnded(err) {
		pt.conn.Drain.Fail()
	}
	return err
}

var errNotPutBack = errors.New("slotsql: what was taken from a slot could not be put back")

// baseHolds asks another session whether the base row satisfies the statement's predicate now that
// the slot row is locked: so both are known as of one moment.
func (pt *portion) baseHolds(ctx context.Context, q *question) bool {
	rows, err := pt.conn.Shared.sides.observers.ask(ctx, pt.conn.Shared, q)
	return err == nil && len(rows) == 1 && link.TextOf(rows[0][0]) == pt.take.place
}

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

// taking is what an execution adds to the counters of its slot, in the order of the plan's shares,
// and what is moved to the slot before that.
type taking struct {
	deltas []int64
	needs  []int64 // how much of the slot's portion that takes; 0 where it gives
	size   int64
	place  string
}

// number returns what an argument of a portion's statements is bound to.
func (t *taking) number(a rewrite.Arg) driver.Value {
	switch a.Portion {
	case rewrite.PortionDelta:
		return t.deltas[a.Column]
	case rewrite.PortionNeed:
		return t.needs[a.Column]
	case rewrite.PortionSize:
		return t.size
	}
	return t.place
}

// portion returns what the execution takes; false if it takes nothing, or cannot take from a
// portion.
func (r *Run) portion(p *rewrite.Portion) (t taking, ok bool) {
	takes := false
	for i := range p.Shares {
		s := &p.Shares[i]
		n, ok := r.term(s.Delta)
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

// term returns a number of the statement; false if it is not an integer, or too large.
func (r *Run) term(t rewrite.Term) (int64, bool) {
	if t.Arg == nil {
		return t.Literal.Of(r.Plan.Values), true
	}
	v, ok := r.value(*t.Arg)
	if !ok {
		return 0, false
	}
	n, ok := integerOf(v.Value)
	if t.Arg.Negate {
		n = -n
	}
	return n, ok && n <= rewrite.MaxTerm && n >= -rewrite.MaxTerm
}

// execPortion runs the statement on a slot. The result is nil if it is to run on the base row.
func (r *Run) execPortion(ctx context.Context) (driver.Result, error) {
	p, c := r.Plan.Bounded.Portion, r.conn
	if p == nil || !r.sessionTakesPortions() {
		return nil, nil
	}
	var ok bool
	if r.take, ok = r.portion(p); !ok {
		return nil, nil
	}
	row, keyed := r.rowOf(p.Table, r.Plan.Bounded.Key)
	if !keyed {
		return nil, nil
	}
	question, ok := r.baseQuestion(p)
	if !ok {
		return nil, nil
	}
	if may, err := r.mayTakeFromSlot(ctx, p, row, question); !may || err != nil {
		return nil, err
	}
	at, ok := r.portionAt(p, row)
	if !ok {
		return nil, nil
	}
	if !r.ensureStock(ctx, p, at) {
		return nil, ctx.Err()
	}
	res, n, err := r.execBound(ctx, &p.Take)
	switch {
	case err != nil && r.refusedBase(err): // the slot is at the end of its range
		c.Shared.portions.Pause(row)
		return nil, nil
	case err != nil:
		return nil, err
	case n > 0:
		return r.tookPortion(ctx, p, at, question, res)
	}
	r.notePortionShort(at)
	return nil, nil
}

// sessionTakesPortions reports whether the session and its transaction are such that statements may
// take from slots.
func (r *Run) sessionTakesPortions() bool {
	c := r.conn
	return c.Shared.OpensAside && !c.Cluster && !c.Origin.RoleSet() && !c.Origin.RoleUnknown() && c.Ordinary() &&
		!c.snapshotBegun() && sql.IsolationLevel(c.begun) != sql.LevelSerializable
}

// mayTakeFromSlot reports whether the statement may take from a slot of the row: others want the row
// too, and the transaction neither has it to itself nor has to lock it first.
func (r *Run) mayTakeFromSlot(ctx context.Context, p *rewrite.Portion, row slots.RowKey, q *question) (bool, error) {
	c, heat := r.conn, row
	heat.Node = 0 // nodes of a cluster have the row in common
	if p.Table.Counter.Options.Placement == schema.PlacementAdaptive && !r.holdsHot(heat) || r.hasOtherwise(p.Table) {
		return false, nil
	}
	if held, err := c.heldToSnapshot(ctx); err != nil || held {
		return false, err
	}
	if first, err := r.locksFirst(ctx, &r.Plan.Bounded.Row); err != nil || first {
		return false, err
	}
	if err := r.Plan.habit.Await(ctx, &c.trials, row, true); err != nil {
		return false, err
	}
	if q == nil {
		return true, nil
	}
	return c.InTransaction(ctx) // the slot row has to stay locked until the base row is known
}

// notePortionShort notes that a slot has too little, or is gone. The transaction may still keep
// others from its row, or from its place: InnoDB locks the gap, and PostgreSQL a row that an
// update has waited for, whatever it finds then. A portion moved there now would wait for the
// transaction while it has the base row locked, which the transaction wants next.
func (r *Run) notePortionShort(at slots.SlotRow) {
	portions := r.conn.Shared.portions
	portions.NoteShort(at)
	if r.conn.Shared.Traits.MissLocks {
		portions.Pause(at.Row)
	}
	r.note(&r.Plan.Bounded.Row, inSlot)
}

// foldsPortions notes that a drain is about to fold what slots of its rows hold.
func (r *Run) foldsPortions(d *rewrite.DrainTable) {
	c := r.conn
	if !c.InAutocommit() {
		if c.folded == nil {
			c.folded = map[string]bool{}
		}
		c.folded[d.Table.Counter.Slotted()] = true
	}
	if s := c.Shared; s.portions.Any() {
		row, known := r.rowOf(d.Table, d.Key)
		row.Table = d.Table.Counter.Slotted()
		s.portions.Forget(row, known)
	}
}

// hasOtherwise reports whether the transaction has, or may have, the row to itself, or has changed
// it other than in a slot.
func (r *Run) hasOtherwise(t *schema.Table) bool {
	c, key := r.conn, r.keyNumbers(&r.Plan.Bounded.Row)
	if c.untied[t.Counter.Slotted()] || c.folded[t.Counter.Slotted()] || r.isBare(&r.Plan.Bounded.Row) {
		return true
	}
	for _, ch := range c.changed() {
		if ch.of(t) && (ch.how != inSlot || ch.drained) && maybeSame(ch.key, key) {
			return true
		}
	}
	return false
}

// hasCounted reports whether the transaction has changed slots of the row.
func (r *Run) hasCounted(t *schema.Table) bool {
	key := r.keyNumbers(&r.Plan.Bounded.Row)
	for _, ch := range r.conn.changed() {
		if ch.of(t) && maybeSame(ch.key, key) {
			return true
		}
	}
	return false
}

// portionAt chooses the slot for a transaction, which holds it until it ends; false if other
// transactions hold all of them.
func (r *Run) portionAt(p *rewrite.Portion, row slots.RowKey) (slots.SlotRow, bool) {
	c, n := r.conn, p.Table.Counter.Slots
	picker := r.pickerOf(p.Table.Counter)
	i, held := c.held[row]
	if !held {
		if i = picker.Placement.Take(row, n); i < 0 {
			return slots.SlotRow{}, false
		}
		c.hold(row, i)
	}
	r.slot = picker.Range.Slot(i, n)
	return slots.SlotRow{Row: row, Slot: r.slot}, true
}

// ensureStock reports whether the slot is believed to hold enough, if necessary after more has
// been moved to it. Nothing can be moved to a slot that the transaction itself has changed.
func (r *Run) ensureStock(ctx context.Context, p *rewrite.Portion, at slots.SlotRow) bool {
	portions := r.conn.Shared.portions
	for i, need := range r.take.needs {
		if need == 0 {
			continue
		}
		n, paused := portions.Holds(at, p.Shares[i].Column)
		if n < need && !paused && !r.hasCounted(p.Table) {
			r.restock(ctx, p, i, at)
			n, _ = portions.Holds(at, p.Shares[i].Column)
		}
		if n < need {
			return false
		}
	}
	r.take.place = portions.Place(at.Row)
	return true
}

// tookPortion is called when a statement has taken from its slot, whose row the transaction has
// locked by that.
func (r *Run) tookPortion(
	ctx context.Context, p *rewrite.Portion, at slots.SlotRow, q *question, res driver.Result,
) (driver.Result, error) {
	s := r.conn.Shared
	for i, need := range r.take.needs {
		s.portions.NoteTaken(at, p.Shares[i].Column, need)
	}
	r.note(&r.Plan.Bounded.Row, inSlot)
	if q != nil && !r.baseHolds(ctx, q) {
		s.portions.Pause(at.Row)
		return nil, cmp.Or(r.putBack(context.WithoutCancel(ctx), p), ctx.Err())
	}
	r.Plan.tally.ranSlotted()
	return &result{res, 1}, nil
}

// putBack gives back what has been taken. No other session can have changed the slot since.
func (r *Run) putBack(ctx context.Context, p *rewrite.Portion) error {
	back := *r
	back.take.deltas = slices.Clone(r.take.deltas)
	for i := range back.take.deltas {
		back.take.deltas[i] *= -1
	}
	_, n, err := back.execBound(ctx, &p.Take)
	if err == nil && n == 0 {
		err = errNotPutBack
	}
	if err != nil && !r.conn.Engine.TxEnded(err) {
		r.conn.Drain.Fail()
	}
	return err
}

var errNotPutBack = errors.New("slotsql: what was taken from a slot could not be put back")

// baseHolds asks another session whether the base row satisfies the statement's predicate now that
// the slot row is locked: so both are known as of one moment.
func (r *Run) baseHolds(ctx context.Context, q *question) bool {
	rows, err := r.conn.Shared.sides.observers.ask(ctx, r.conn.Shared, q)
	return err == nil && len(rows) == 1 && link.TextOf(rows[0][0]) == r.take.place
}

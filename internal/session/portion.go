package session

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"strconv"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// Guarded decrements in transactions that take from a portion: see rewrite.Portion for what
// one slot proves, and docs/design/escrow.md.
//
// A transaction that has the base row holds it until it ends, and all others wait for it.
// One that takes from a slot holds that, and the next one takes from another. What it has
// taken is a change of a slot row like any other: a rollback gives it back. Where the slot
// has too little, or its row is gone, nothing is known, and the statement runs on the base
// row as if there were no portions.

// taking is what an execution takes from its portion.
type taking struct {
	amount, need, floor, size int64
	place                     string
}

// number returns what is bound for an argument of a portion's statements.
func (t *taking) number(a rewrite.PortionArg) driver.Value {
	switch a {
	case rewrite.PortionAmount:
		return t.amount
	case rewrite.PortionNeed:
		return t.need
	case rewrite.PortionFloor:
		return t.floor
	case rewrite.PortionSize:
		return t.size
	}
	return t.place
}

// portion works out what the execution takes; false where no portion is for it.
//
// It demands that the total is at least g. That is so where the slot holds at least need and
// the base value is at least floor = g - need, since no slot is negative.
func (r *Run) portion(p *rewrite.Portion) (t taking, ok bool) {
	delta, ok := r.term(p.Delta)
	if !ok || delta >= 0 {
		return t, false
	}
	t.amount = -delta
	demand := int64(math.MinInt64)
	for _, d := range p.Demands {
		sum := int64(0)
		for _, x := range d.Terms {
			n, ok := r.term(x)
			if !ok {
				return t, false
			}
			sum += n
		}
		if d.More {
			sum++
		}
		demand = max(demand, sum)
	}
	t.need = max(t.amount, demand-p.Min)
	t.floor = demand - t.need
	return t, true
}

// term returns a number of the statement; false where it is no integer, or a large one.
func (r *Run) term(t rewrite.Term) (int64, bool) {
	if t.Arg == nil {
		return t.Literal, true
	}
	v, ok := r.value(*t.Arg)
	if !ok {
		return 0, false
	}
	if _, custom := v.Value.(driver.Valuer); custom {
		return 0, false
	}
	n, ok := integerOf(v.Value)
	if t.Arg.Negate {
		n = -n
	}
	return n, ok && n <= rewrite.MaxTerm && n >= -rewrite.MaxTerm
}

// execPortion runs the statement on a slot; the result is nil where it is to run on the
// base row.
func (r *Run) execPortion(ctx context.Context) (driver.Result, error) {
	p, c := r.Plan.Bounded.Portion, r.conn
	if p == nil || !c.Shared.OpensAside || c.Cluster || c.Origin.RoleSet() || c.Origin.RoleUnknown() || !c.Ordinary() {
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
	question, ok := r.valueQuery(p)
	if !ok {
		return nil, nil
	}
	heat := row
	heat.Node = 0
	if p.Table.Counter.Options.Placement == rewrite.PlacementAdaptive && !r.holdsHot(heat) || r.hasOtherwise(p.Table) {
		return nil, nil
	}
	if first, err := r.locksFirst(ctx, &r.Plan.Bounded.Row); err != nil || first {
		return nil, err
	}
	if err := r.Plan.habit.Await(ctx, &c.trials, row); err != nil {
		return nil, err
	}
	// The slot row has to stay locked until the base value is known.
	if open, err := c.InTransaction(ctx); err != nil || !open {
		return nil, err
	}
	at, ok := r.portionAt(p, row)
	if !ok {
		return nil, nil
	}
	if !r.stocked(ctx, p, at) {
		return nil, ctx.Err()
	}
	res, n, err := r.own(ctx, &p.Take)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		c.Shared.portions.Lack(at)
		return nil, nil
	}
	return r.taken(ctx, p, at, question, res)
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

// hasOtherwise reports whether the transaction has, or may have, the row for itself, or
// changed it other than in a slot.
func (r *Run) hasOtherwise(t *rewrite.Table) bool {
	c, key := r.conn, r.keyNumbers(&r.Plan.Bounded.Row)
	if c.untied[t.Counter.Slotted()] || c.folded[t.Counter.Slotted()] || r.isBare(&r.Plan.Bounded.Row) {
		return true
	}
	for _, own := range c.own {
		if own.rows.Table.Counter.Slotted() == t.Counter.Slotted() && (own.how != inSlot || own.settled) && maybeSame(own.key, key) {
			return true
		}
	}
	return false
}

// hasCounted reports whether the transaction has changed slots of the row.
func (r *Run) hasCounted(t *rewrite.Table) bool {
	key := r.keyNumbers(&r.Plan.Bounded.Row)
	for _, own := range r.conn.own {
		if own.rows.Table.Counter.Slotted() == t.Counter.Slotted() && maybeSame(own.key, key) {
			return true
		}
	}
	return false
}

// portionAt finds the slot for a transaction, which holds it until it ends; false where
// others hold all.
func (r *Run) portionAt(p *rewrite.Portion, row slots.RowKey) (slots.SlotRow, bool) {
	c, n := r.conn, p.Table.Counter.Slots
	seats := r.seatsOf(p.Table.Counter)
	i, held := c.held[row]
	if !held {
		if i = seats.Placement.Take(row, n); i < 0 {
			return slots.SlotRow{}, false
		}
		c.hold(row, i)
	}
	r.slot = seats.Places.Slot(i, n)
	return slots.SlotRow{Row: row, Slot: r.slot}, true
}

// stocked reports whether the slot is believed to hold enough, after a portion has been
// moved to it where it does not. What the transaction itself has changed no other
// session can change.
func (r *Run) stocked(ctx context.Context, p *rewrite.Portion, at slots.SlotRow) bool {
	s := r.conn.Shared
	n, place, rests := s.portions.Holds(at)
	if n < r.take.need && !rests && !r.hasCounted(p.Table) {
		r.restock(ctx, p, at)
		n, place, _ = s.portions.Holds(at)
	}
	r.take.place = place
	return n >= r.take.need
}

// taken is for a statement that has taken from its slot, whose row the transaction has
// locked by that.
func (r *Run) taken(ctx context.Context, p *rewrite.Portion, at slots.SlotRow, question string, res driver.Result) (driver.Result, error) {
	s := r.conn.Shared
	s.portions.Took(at, r.take.amount)
	r.note(r.Plan.Bounded.Row, inSlot)
	if !r.baseHolds(ctx, question) {
		s.portions.Rest(at.Row)
		return nil, cmp.Or(r.putBack(context.WithoutCancel(ctx), p), ctx.Err())
	}
	r.Plan.tally.ranSlotted()
	return &result{res, 1}, nil
}

// putBack undoes what has been taken. Nobody else has been able to change the slot since.
func (r *Run) putBack(ctx context.Context, p *rewrite.Portion) error {
	back := *r
	back.take.amount, back.take.need = -r.take.amount, math.MinInt64
	_, n, err := back.own(ctx, &p.Take)
	if err == nil && n == 0 {
		err = errNotPutBack
	}
	if err != nil && !r.conn.Engine.TxEnded(err) {
		r.conn.Drain.Fail()
	}
	return err
}

var errNotPutBack = errors.New("slotsql: what was taken from a slot could not be put back")

// baseHolds asks another session for the base value as it is now, after the slot row has
// been locked: what both hold was there at one moment.
func (r *Run) baseHolds(ctx context.Context, question string) bool {
	rows, err := r.conn.Shared.asides.observers.ask(ctx, r.conn.Shared, question)
	if err != nil || len(rows) != 1 || link.TextOf(rows[0][0]) != r.take.place {
		return false
	}
	n, err := strconv.ParseInt(link.TextOf(rows[0][1]), 10, 64)
	return err == nil && n >= r.take.floor
}

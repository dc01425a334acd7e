package session

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An increment in a transaction may run on the base row as the application has written it: that is
// exact whatever the slots hold, because additions commute. It does so if the transaction has the
// row to itself anyway, and if creating a slot row could wait for others, or for a row that does
// not exist.

// belongsOnBase reports whether an increment of an open transaction is to run on the
// base row.
func (r *Run) belongsOnBase() bool {
	c := r.conn
	if !c.Shared.Traits.MissLocks || !r.incrementFitsBase() {
		return false
	}
	t := r.Plan.Increment.Table
	if c.untied[t.Counter.Slotted()] {
		// A DELETE has locked the place in the slot table where rows of the deleted key would be,
		// and other transactions may have done the same: none must wait for another's.
		return true
	}
	return c.hasRow(t, r.keyNumbers(&r.Plan.Increment.Row)) || r.Plan.Increment.Upsert && !r.knownToExist()
}

// noteUntied notes that the transaction has deleted rows to which slot rows refer.
func (c *Conn) noteUntied(tables []*schema.Table) {
	for _, t := range tables {
		if t.Counter == nil {
			continue
		}
		if c.untied == nil {
			c.untied = map[string]bool{}
		}
		c.untied[t.Counter.Slotted()] = true
	}
}

// hasRow reports whether the transaction has a row to itself.
func (c *Conn) hasRow(t *schema.Table, key []string) bool {
	for _, ch := range c.changed() {
		if !ch.of(t) {
			continue
		}
		switch {
		case ch.how == afterDrain || ch.drained:
			if maybeSame(ch.key, key) {
				return true
			}
		case ch.how == inserted || ch.how == onBase && c.Shared.Traits.ChangeExcludes:
			if key != nil && slices.Equal(ch.key, key) {
				return true
			}
		}
	}
	return false
}

// maybeSame reports whether two keys may be equal: nil is an unknown key.
func maybeSame(a, b []string) bool { return a == nil || b == nil || slices.Equal(a, b) }

// drainsCounted notes that a transaction drains rows that it may have counted in slots.
func (c *Conn) drainsCounted(t *schema.Table, key []string) {
	for _, ch := range c.changes {
		if ch.how == inSlot && !ch.drained && ch.of(t) && maybeSame(ch.key, key) {
			ch.plan.habit.NoteDrain()
		}
	}
}

// changesCounted notes that a transaction changes base rows that its increments in slots share
// with others: the increments that keep the row from being changed, and all of them on an engine
// where an increment and a change exclude each other. Two such transactions would wait for each
// other, as with a drain. It is noted before the change, which may be chosen as deadlock victim.
func (r *Run) changesCounted(changes []rewrite.DrainTable) {
	c := r.conn
	if r.Plan.Base.Fresh || len(c.changes) == 0 {
		return
	}
	for i := range changes {
		d := r.rowsToDrain(changes[i])
		key := r.keyNumbers(&d)
		for _, ch := range c.changes {
			if inc := ch.plan.Increment; inc == nil || inc.Holding != nil && !ch.firm && !c.Shared.Traits.ChangeExcludes {
				continue
			}
			if ch.how == inSlot && !ch.drained && ch.of(d.Table) &&
				maybeSame(ch.key, key) {
				ch.plan.habit.NoteDrain()
			}
		}
	}
}

// execOnBase runs the increment on its base row.
func (r *Run) execOnBase(ctx context.Context) (answer, error) {
	a, n, err := r.sendCounted(ctx)
	if err != nil {
		return a, err
	}
	if n > 1 { // MySQL counts an upsert that has met its row twice
		if row, keyed := r.rowKey(); keyed {
			r.noteRowExists(row)
		}
	}
	return a, r.addedToRow(ctx, n)
}

// addedToRow notes that the increment has run on its base row, and how many rows it has affected.
func (r *Run) addedToRow(ctx context.Context, n int64) error {
	inc := r.Plan.Increment
	if r.conn.InAutocommit() {
		return nil
	}
	if n == 0 {
		r.noteUnchanged(&inc.Row)
		return nil
	}
	r.noteRowLocked(inc.Table)
	r.note(&inc.Row, onBase)
	return r.holdIncrement(ctx)
}

// noteRowLocked notes that a statement has changed a base row, which so stays locked until the
// transaction ends.
func (r *Run) noteRowLocked(t *schema.Table) {
	r.rowLocked = r.conn.keepsBare(t)
	r.conn.Tx.LocksOnly(r.conn.Shared.Traits.ChangeExcludes && r.Plan.Base.LocksOnly)
}

// keepsBare reports whether a transaction that has changed a row of a table keeps others from
// creating slots of it.
func (c *Conn) keepsBare(t *schema.Table) bool {
	tr := &c.Shared.Traits
	return tr.ChangeExcludes || tr.ChangeKeepsSlotless && t.Counter.Layout != schema.LayoutJournal
}

// existence is a slot number that no slot has. Under it Placement remembers that a row has
// existed: a guess, like the others.
const existence = -1

// noteRowExists remembers that an upsert has found its row.
func (r *Run) noteRowExists(row slots.RowKey) {
	if r.Plan.Increment.Upsert && r.conn.Shared.Traits.MissLocks {
		r.conn.Shared.placement.Learn(slots.SlotRow{Row: row, Slot: existence})
	}
}

// knownToExist reports whether an upsert has found its row before. If not, the statement that
// looks for the row in order to create a slot row would lock the place of a row that does not
// exist.
func (r *Run) knownToExist() bool {
	row, keyed := r.rowKey()
	return keyed && r.conn.Shared.placement.Knows(slots.SlotRow{Row: row, Slot: existence})
}

// awaitTrial waits until it is known whether transactions with this increment go on to drain the
// row: see slots.Habit. How is the manner in which it is about to run.
func (r *Run) awaitTrial(ctx context.Context, how manner) error {
	if r.conn.Shared.Traits.OneWriter {
		return nil
	}
	row, keyed := r.rowKey()
	if !keyed {
		row, _ = r.changeKey(&r.Plan.Increment.Row, inSlot)
	}
	return r.Plan.habit.Await(ctx, &r.conn.trials, row, how == inSlot)
}

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
// base row, where a miss locks.
func (in increment) belongsOnBase() bool {
	c := in.conn
	if !in.fitsBase() {
		return false
	}
	t := in.of.Table
	if c.untied[t.Counter.Slotted()] {
		// A DELETE has locked the place in the slot table where rows of the deleted key would be,
		// and other transactions may have done the same: none must wait for another's.
		return true
	}
	return c.hasRow(t, in.run.args().KeyNumbers(&in.of.Row)) || in.of.Upsert && !in.knownToExist()
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
		case ch.how == changedAfterDrain || ch.drained:
			if maybeSame(ch.key, key) {
				return true
			}
		case ch.how == changedNew || ch.how == changedOnBase && c.Shared.Traits.ChangeExcludes:
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
	if !c.addedToSlots(t) {
		return
	}
	for _, ch := range c.changed() {
		if ch.how == changedInSlot && !ch.drained && ch.of(t) && maybeSame(ch.key, key) {
			ch.plan.habit.NoteDrain()
		}
	}
}

// changesCounted notes that a transaction changes base rows that its increments in slots share
// with others: the increments that keep the row from being changed, and all of them on an engine
// where an increment and a change exclude each other. Two such transactions would wait for each
// other, as with a drain. It is noted before the change, which may be chosen as deadlock victim.
func (rc rowChanges) changesCounted(changes []rewrite.DrainTable) {
	c := rc.conn
	if rc.run.Plan.Base.Fresh || !c.addedToSlots(nil) {
		return
	}
	for i := range changes {
		d := rc.run.rowsToDrain(changes[i])
		key := rc.run.args().KeyNumbers(&d)
		for _, ch := range c.changed() {
			if inc := ch.plan.Increment; inc == nil || inc.Holding != nil && !ch.firm && !c.Shared.Traits.ChangeExcludes {
				continue
			}
			if ch.how == changedInSlot && !ch.drained && ch.of(d.Table) &&
				maybeSame(ch.key, key) {
				ch.plan.habit.NoteDrain()
			}
		}
	}
}

// execOnBase runs the increment on its base row.
func (in increment) execOnBase(ctx context.Context) (answer, error) {
	a, n, err := in.run.sendCounted(ctx)
	if err != nil {
		return a, err
	}
	in.run.Plan.tally.cold.Add(1)
	if n > 1 { // MySQL counts an upsert that has met its row twice
		if row, keyed := in.rowKey(); keyed {
			in.noteRowExists(row)
		}
	}
	return a, in.addedToRow(ctx, n)
}

// addedToRow notes that the increment has run on its base row, and how many rows it has affected.
func (in increment) addedToRow(ctx context.Context, n int64) error {
	inc := in.of
	if in.conn.InAutocommit() {
		return nil
	}
	if n == 0 {
		rowChangesOf(in.run).noteUnchanged(&inc.Row)
		return nil
	}
	rowChangesOf(in.run).noteRowLocked(inc.Table)
	noteChange(in.run, &inc.Row, changedOnBase)
	if len(in.conn.readTables) == 0 {
		return nil
	}
	return rowChangesOf(in.run).holdIncrement(ctx)
}

// noteRowLocked notes that a statement has changed a base row, which so stays locked until the
// transaction ends.
func (rc rowChanges) noteRowLocked(t *schema.Table) {
	rc.run.rowLocked = rc.conn.keepsSlotless(t)
	rc.conn.Tx.LocksOnly(rc.conn.Shared.Traits.ChangeExcludes && rc.run.Plan.Base.LocksOnly)
}

// keepsSlotless reports whether a transaction that has changed a row of a table keeps others from
// creating slots of it.
func (c *Conn) keepsSlotless(t *schema.Table) bool {
	tr := &c.Shared.Traits
	return tr.ChangeExcludes || tr.ChangeKeepsSlotless && t.Counter.Layout != schema.LayoutJournal
}

// existence is a slot number that no slot has. Under it Placement remembers that a row has
// existed: a guess, like the others.
const existence = -1

// noteRowExists remembers that an upsert has found its row.
func (in increment) noteRowExists(row slots.RowKey) {
	if in.of.Upsert && in.conn.Shared.Traits.MissLocks {
		in.conn.Shared.placement.Learn(slots.SlotRow{Row: row, Slot: existence})
	}
}

// knownToExist reports whether an upsert has found its row before. If not, the statement that
// looks for the row in order to create a slot row would lock the place of a row that does not
// exist.
func (in increment) knownToExist() bool {
	row, keyed := in.rowKey()
	return keyed && in.conn.Shared.placement.Knows(slots.SlotRow{Row: row, Slot: existence})
}

// awaitTrial waits until it is known whether transactions with this increment go on to drain the
// row: see slots.Habit. How is what it is about to do.
func (in increment) awaitTrial(ctx context.Context, how changeKind) error {
	if in.conn.Shared.Traits.OneWriter {
		return nil
	}
	row, keyed := in.rowKey()
	if !keyed {
		row, _ = rowChangesOf(in.run).changeKey(&in.of.Row, changedInSlot)
	}
	return in.run.Plan.habit.Await(ctx, &in.conn.trials, row, how == changedInSlot)
}

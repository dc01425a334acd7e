package session

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The drain of rows that the transaction has changed, before it reads their counters: see rowchange.go.

// drainChanges drains the rows that the transaction has changed of tables that the
// statement reads.
func (rc rowChanges) drainChanges(ctx context.Context, tables []*schema.Table) error {
	c := rc.conn
	noteRead(c, tables)
	if len(c.changed()) == 0 {
		return nil
	}
	open, err := c.InTransaction(ctx)
	if err != nil {
		return err
	}
	if !open { // they are committed, or gone
		c.forget()
		return nil
	}
	return c.drainChangesOf(ctx, tables)
}

// drainChangesOf drains the rows of tables that the transaction has changed.
func (c *Conn) drainChangesOf(ctx context.Context, tables []*schema.Table) error {
	defer c.Drain.End()
	var keys []slots.RowKey
	for k, ch := range c.changed() {
		if !ch.drained && slices.ContainsFunc(tables, func(t *schema.Table) bool {
			return ch.of(t)
		}) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b slots.RowKey) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Values, b.Values))
	})
	// First all of them are locked: with the plain driver the locks come before
	// the read's snapshot, and so a transaction that commits while this waits for one of
	// them is in it with everything else that it has done.
	seen := make([]bool, len(keys))
	for i, k := range keys {
		ch := c.changes[k]
		var err error
		if seen[i], err = c.keepRows(ctx, &ch); err != nil {
			return c.Lost(err)
		}
	}
	for i, k := range keys {
		ch := c.changes[k]
		if v := ch.rows.Versions; v != nil && !c.sameBefore(keys[:i], seen, &ch) && !(seen[i] && c.unread()) {
			if err := rowChangesOf(c.newRun(ch.plan, direct{c}, ch.call)).oneVersion(ctx, v, seen[i]); err != nil {
				return c.Lost(err)
			}
		}
		ch.drained = true
		c.changes[k] = ch
	}
	return nil
}

// unread reports whether the snapshot that the transaction reads next is still to come. It then shows
// none of the slots that rows had before the transaction locked and drained them.
func (c *Conn) unread() bool {
	level := sql.IsolationLevel(c.begun)
	each := c.Tx.Phase() == link.TxBegun && (level == sql.LevelReadCommitted || level == sql.LevelReadUncommitted)
	return each || c.Tx.Unread() && !c.Rare.Any(link.ChangedSettings)
}

// sameBefore reports whether the one row of a change is also that of an earlier change whose version
// the transaction sees.
func (c *Conn) sameBefore(keys []slots.RowKey, seen []bool, ch *rowChange) bool {
	for i, k := range keys {
		before := c.changes[k]
		if seen[i] && before.sameRow(ch) {
			return true
		}
	}
	return false
}

// keepRows drains rows that the transaction has changed, and has them for itself
// then; it takes no snapshot. Seen is for oneVersion.
func (c *Conn) keepRows(ctx context.Context, ch *rowChange) (seen bool, err error) {
	d := ch.rows
	if ch.how == changedOnBase || ch.how == changedNone {
		if slotless, err := slotlessOf(c.newRun(ch.plan, direct{c}, ch.call)).asleepFor(ctx, &d); slotless || err != nil {
			return slotless, err
		}
	}
	// The transaction has the rows that it has changed for itself. On PostgreSQL its lock may let others
	// make slots, so there that has to be known of the row.
	alone := ch.how >= changedNone || ch.how == changedOnBase && (c.Shared.Traits.ChangeExcludes || ch.locked)
	if alone {
		ch.readAlone()
	} else {
		ch.plan.habit.NoteDrain()
	}
	if ch.how >= changedAfterDrain || ch.how != changedInSlot && c.drained(ch) {
		return true, nil
	}
	// Where the lock is there already its statement still keeps the columns of
	// the slot table as they are.
	dr := c.newRun(ch.plan, direct{c}, ch.call).drainOf(&rewrite.DrainPlan{Tables: []rewrite.DrainTable{d}})
	dr.reason, dr.ofChanges = "a transaction reads a counter of a row that it has changed", true
	if _, err := dr.drain(ctx); err != nil {
		return false, err
	}
	if ch.how == changedOnBase {
		ch.plan.proofs.note(!dr.folded)
	}
	return ch.how != changedInSlot || dr.addedToBase, nil
}

// readAlone notes that the transaction, which has the rows of a change for itself, goes on to read them. A change
// that is not an increment never counts in a slot, and need not lock first because of that.
func (ch *rowChange) readAlone() {
	if ch.how == changedOnBase && ch.plan.Increment != nil {
		ch.plan.habit.NoteWouldDrain()
	}
}

// drained reports whether the transaction has drained the one row of a change, so that no other session
// has added to it since.
func (c *Conn) drained(ch *rowChange) bool {
	for _, other := range c.changed() {
		if (other.how == changedAfterDrain || other.drained) && other.sameRow(ch) {
			return true
		}
	}
	return false
}

// hasDrained reports whether the transaction has drained the increment's row before: nothing there is newer.
func (in increment) hasDrained() bool {
	rows := in.of.Row
	return in.conn.drained(&rowChange{rows: rows, key: in.run.args().KeyNumbers(&rows)})
}

package session

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A transaction that has changed a row holds the row's lock with the plain
// driver: until it ends no other session changes the row, and what it reads of it is
// its own version. Two that count and then read never read the same. Slots let
// others count, and a transaction would read its own changes and not theirs, or
// theirs from one moment to the next.
//
// So a transaction drains the rows that it has changed before it reads their
// table's counters. From then on it has them for itself, as plain has. That
// costs nothing where it does not read them.
//
// Two transactions that have changed a row and then both drain it wait for each
// other, and one of them is chosen as deadlock victim. So that this does not go on, a
// change whose transaction has read afterwards locks first from then on: in a
// transaction it drains its row and runs on it, in the plain order of locks.
//
// What else it takes where a transaction has a snapshot is in versions.go (its
// own version of a row beside others' slots) and conflicts.go (changes that the
// snapshot forbids).

// rowChange is what the open transaction has done to rows of a counter table.
type rowChange struct {
	plan *plan
	call call
	rows rewrite.DrainTable
	how  manner
	at   int // number among the transaction's changes
	// firm reports whether it keeps other sessions from changing the rows.
	firm bool
	// locked reports whether it has changed the one row of key, so that others make no slots of it, and
	// nothing has happened since with which the lock may have been given up.
	locked bool
	// drained reports whether its rows have been drained since, and no savepoint been
	// rolled back to, with which an engine may give up the lock.
	drained bool
	// key is that of the one row, of whole numbers, and slots those that it has
	// been added to in; nil where they are not known.
	key   []string
	slots []int64
}

// of reports whether the rows are of a table.
func (ch *rowChange) of(t *schema.Table) bool {
	return ch.rows.Table.Counter.Slotted() == t.Counter.Slotted()
}

// sameRow reports whether both changes are known to be of the same one row.
func (ch *rowChange) sameRow(other *rowChange) bool {
	return ch.key != nil && slices.Equal(ch.key, other.key) && ch.of(other.rows.Table)
}

// manner is how rows were changed.
type manner byte

const (
	inSlot     manner = iota // by an increment in a slot
	onBase                   // by a statement that ran on the base rows as they are
	unchanged                // not at all: such a statement has affected none of them, and may have locked them
	afterDrain               // after a drain: no other session can add to them
	inserted                 // they are new: no other session sees them
)

// maxChanges is how many changes a transaction remembers; one that has more
// drains whole tables.
const maxChanges = 256

// remember works out a change, which has the number at.
func (r *Run) remember(rows rewrite.DrainTable, how manner, at int) {
	c := r.conn
	if rows = r.rowsToDrain(rows); rows.Versions == nil && how >= afterDrain {
		return
	}
	rows.New = nil
	if how == inSlot {
		r.notBare(&rows)
	}
	ch := rowChange{plan: r.Plan, call: r.call, rows: rows, how: how, key: r.keyNumbers(&rows)}
	ch.locked = r.rowLocked && how == onBase && ch.key != nil
	ch.firm = r.firm
	k, ok := r.changeKey(&rows, how)
	switch {
	case len(c.changes) >= maxChanges:
		k = slots.RowKey{Table: rows.Table.Counter.Slotted(), Values: string('0'+byte(how)) + "all"}
		ch.rows, ch.key, ch.locked = rewrite.DrainAll(c.Dialect(), rows.Table), nil, false
	case !ok:
		k.Values += strconv.Itoa(len(c.changes)) // as if it were another one
	}
	if c.changes == nil {
		c.changes = map[slots.RowKey]rowChange{}
	}
	ch.at = at
	old, has := c.changes[k]
	if has {
		ch.at, ch.firm = old.at, ch.firm || old.firm
		ch.drained = old.drained && how == onBase && ok && len(c.changes) < maxChanges // no other session adds to the row
	}
	if how == inSlot && (rows.Table.Counter.Options.Placement != schema.PlacementSkipLocked || c.Shared.Traits.MissLocks) &&
		len(c.changes) < maxChanges {
		ch.slots = append(slices.Clip(old.slots), r.slot)
	}
	c.changes[k] = ch
}

// changeKey names rows and how they were changed; false for a value of a type
// whose equality is not plain.
func (r *Run) changeKey(rows *rewrite.DrainTable, how manner) (k slots.RowKey, ok bool) {
	b := []byte{'0' + byte(how)}
	ok = true
	for _, a := range rows.Rows.Args {
		if v, has := r.value(a); has {
			if b, has = slots.AppendValue(append(b, ','), v); !has {
				ok = false
			}
		}
	}
	return slots.RowKey{Table: r.sql(&rows.Rows), Values: string(b)}, ok
}

// noteIncrement remembers an increment in a slot.
func (r *Run) noteIncrement() { r.note(&r.Plan.Increment.Row, inSlot) }

// noteChanges remembers what a statement has changed on the base rows.
func (r *Run) noteChanges(affected int64) {
	base := &r.Plan.Base
	how := onBase
	switch {
	case affected == 0 && r.Plan.Touched != nil && !base.LocksOthers: // of a call of several statements it is the last one's
		if len(base.Changes) == 1 && !base.Fresh && (base.Counted || base.Changes[0].Certain()) {
			r.noteUnchanged(&base.Changes[0])
		}
		return
	case base.Fresh:
		how = inserted
	}
	for i := range base.Changes {
		d := &base.Changes[i]
		if base.Counted && affected > 0 {
			r.noteRowLocked(d.Table)
		}
		r.note(d, how)
	}
}

// noteUnchanged remembers the rows of a statement that has affected none of them. InnoDB has locked them nevertheless, and
// at READ COMMITTED gives up only those that WHERE does not meet.
func (r *Run) noteUnchanged(rows *rewrite.DrainTable) {
	c := r.conn
	if c.Shared.Traits.LocksUnchanged && (rows.Certain() || sql.IsolationLevel(c.begun) != sql.LevelReadCommitted) {
		r.note(rows, unchanged)
	}
}

// noteDrained remembers the rows of a drain.
func (r *Run) noteDrained() {
	for i := range r.Plan.Drain.Tables {
		r.note(&r.Plan.Drain.Tables[i], afterDrain)
	}
}

// drainChanges drains the rows that the transaction has changed of tables that the
// statement reads.
func (r *Run) drainChanges(ctx context.Context) error {
	c := r.conn
	r.noteRead()
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
	return c.drainChangesOf(ctx, r.Plan.Touched)
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
			if err := c.newRun(ch.plan, direct{c}, ch.call).oneVersion(ctx, v, seen[i]); err != nil {
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
	return each || c.Tx.Unread() && !c.Origin.Dirty()
}

// sameBefore reports whether the one row of a change is that of another one, of which the
// transaction sees its own version.
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
	if ch.how == onBase || ch.how == unchanged {
		if bare, err := c.newRun(ch.plan, direct{c}, ch.call).asleepFor(ctx, &d); bare || err != nil {
			return bare, err
		}
	}
	// The transaction has rows that it has changed for itself; on PostgreSQL, where it may have locked
	// them in a way that lets others make slots, those of which that is known.
	alone := ch.how >= unchanged || ch.how == onBase && (c.Shared.Traits.ChangeExcludes || ch.locked)
	if alone {
		ch.readAlone()
	} else {
		ch.plan.habit.NoteDrain()
	}
	if ch.how >= afterDrain || ch.how != inSlot && c.drained(ch) {
		return true, nil
	}
	// Where the lock is there already its statement still keeps the columns of
	// the slot table as they are.
	p := ch.plan.variant(&rewrite.Plan{Class: rewrite.Drain, Drain: rewrite.DrainPlan{Tables: []rewrite.DrainTable{d}},
		Reason: "a transaction reads a counter of a row that it has changed", SQL: ch.plan.SQL, Values: ch.plan.Values})
	r := c.newRun(p, direct{c}, ch.call)
	r.ofChanges = true
	if _, err := r.drain(ctx); err != nil {
		return false, err
	}
	if ch.how == onBase {
		ch.plan.proofs.note(!r.folded)
	}
	return ch.how != inSlot || r.addedToBase, nil
}

// readAlone notes that the transaction, which has the rows of a change for itself, goes on to read them. A change
// that is not an increment never counts in a slot, and need not lock first because of that.
func (ch *rowChange) readAlone() {
	if ch.how == onBase && ch.plan.Increment != nil {
		ch.plan.habit.NoteWouldDrain()
	}
}

// drained reports whether the transaction has drained the one row of a change, so that no other session
// has added to it since.
func (c *Conn) drained(ch *rowChange) bool {
	for _, other := range c.changed() {
		if (other.how == afterDrain || other.drained) && other.sameRow(ch) {
			return true
		}
	}
	return false
}

// hasDrained reports whether the transaction has drained the increment's row before: nothing there is newer.
func (r *Run) hasDrained() bool {
	rows := r.Plan.Increment.Row
	return r.conn.drained(&rowChange{rows: rows, key: r.keyNumbers(&rows)})
}

// locksFirst reports whether a change of rows is to lock them before it is made: it
// is in a transaction, of a kind that reads afterwards, or of one that has read
// before and must not change what is newer.
func (r *Run) locksFirst(ctx context.Context, rows *rewrite.DrainTable) (bool, error) {
	c := r.conn
	if !c.Tx.KeepsLocks() || !r.Plan.habit.LocksFirst() {
		if !rows.Only {
			return false, nil
		}
		r.cause = heldToSnapshot
		return c.conflicts(ctx, rows.Table)
	}
	r.cause = readAfterwards
	if rows.Only || c.Engine.Snapshots == nil || c.Shared.Traits.LocksReads {
		return true, nil
	}
	// A row that the statement does not touch may be newer than a snapshot. (An engine that locks
	// what a statement looks at holds that to the snapshot, too.)
	held, err := c.atSnapshot(ctx)
	return !held && err == nil, err
}

// drainsFirst is locksFirst for an increment that would go to a slot. Locking first because of a later
// read only avoids a deadlock. A user without the rights to move slots would be refused for it, and so counts in a slot.
func (r *Run) drainsFirst(ctx context.Context) (bool, error) {
	first, err := r.locksFirst(ctx, &r.Plan.Increment.Row)
	if !first || err != nil || r.cause != readAfterwards {
		return first, err
	}
	return !r.conn.Origin.RoleSet() && len(r.Plan.Increment.Table.Counter.Rights.Ungranted) == 0, nil
}

// locksByChange reports whether the increment itself is to lock its row, and the read that follows to look for slots.
// On PostgreSQL others go on to add to slots that the row has until the read folds them. So there that is for rows
// that lately had none.
func (r *Run) locksByChange() bool {
	c := r.conn
	switch {
	case !r.incrementFitsBase():
		return false
	case c.Shared.Traits.ChangeExcludes:
		return r.cause != heldToSnapshot || r.hasDrained()
	}
	return r.cause != heldToSnapshot && c.keepsBare(r.Plan.Increment.Table) && !c.snapshotBegun() && r.Plan.proofs.due()
}

// lockFirst drains the increment's row and runs the statement on it.
func (r *Run) lockFirst(ctx context.Context) (answer, error) {
	if r.locksByChange() {
		return r.execOnBase(ctx)
	}
	if r.Plan.Class == rewrite.Additive || r.Plan.Increment.Companions {
		return r.runDrained(ctx)
	}
	// An upsert is right whether or not its row exists. A missing row cannot be locked, and another
	// session may insert it; so it is remembered, and drained before it is read.
	cp, first := *r, *r.Plan.Plan
	first.Class, first.Drain.Tables = rewrite.Additive, []rewrite.DrainTable{r.Plan.Increment.Row}
	cp.Plan = r.Plan.variant(&first)
	a, err := cp.runDrained(ctx)
	if err == nil {
		r.note(&r.Plan.Increment.Row, onBase)
	}
	return a, err
}

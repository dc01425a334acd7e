package session

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/slotsql/slotsql/internal/argument"
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

// rowChanges notes what an execution changes of rows in the application's transaction, and has the transaction lock what others must not
// change meanwhile.
type rowChanges struct {
	run  *Run
	conn *Conn
}

func rowChangesOf(r *Run) rowChanges { return rowChanges{r, r.conn} }

// rowChange is what the open transaction has done to rows of a counter table.
type rowChange struct {
	plan *plan
	call call
	rows rewrite.DrainTable
	how  changeKind
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

// changeKind is how rows were changed.
type changeKind byte

const (
	changedInSlot     changeKind = iota // by an increment in a slot
	changedOnBase                       // by a statement that ran on the base rows as they are
	changedNone                         // not at all: such a statement has affected none of them, and may have locked them
	changedAfterDrain                   // after a drain: no other session can add to them
	changedNew                          // they are new: no other session sees them
)

// maxChanges is how many changes a transaction remembers; one that has more
// drains whole tables.
const maxChanges = 256

// lateChange is a change of rows that has not been worked out: most transactions end before anything asks.
type lateChange struct {
	plan   *plan
	call   call
	rows   *rewrite.DrainTable
	how    changeKind // changedInSlot or changedOnBase
	at     int
	slot   int64 // as in addition
	firm   bool  // as in Run
	locked bool  // Run.rowLocked
}

// maxLate bounds the changes of a transaction that have not been worked out.
const maxLate = 16

// noteChange remembers a change of rows. Where one connection writes at a time no other
// changes any before the transaction ends.
func noteChange(r *Run, rows *rewrite.DrainTable, how changeKind) {
	c := r.conn
	if c.Shared.Traits.OneWriter || c.InAutocommit() {
		return
	}
	if how > changedOnBase || len(c.late) == maxLate {
		c.changed() // in order
	}
	if how == changedInSlot && c.lastChange > 0 {
		rowChangesOf(r).forgetSlotless(rows)
		goesOn(c, rows.Table)
	}
	c.lastChange++
	if how > changedOnBase {
		rowChangesOf(r).remember(*rows, how, c.lastChange)
		return
	}
	c.late = append(c.late, lateChange{r.Plan, r.call, rows, how, c.lastChange, r.added.slot, r.firm, r.rowLocked})
}

// changed returns the rows that the transaction has changed.
func (c *Conn) changed() map[slots.RowKey]rowChange {
	for _, l := range c.late {
		r := c.newRun(l.plan, direct{c}, l.call)
		r.added.slot, r.firm, r.rowLocked = l.slot, l.firm, l.locked
		rowChangesOf(r).remember(*l.rows, l.how, l.at)
	}
	clear(c.late)
	c.late = c.late[:0]
	return c.changes
}

// remember works out a change, which has the number at.
func (rc rowChanges) remember(rows rewrite.DrainTable, how changeKind, at int) {
	c := rc.conn
	if rows = rc.run.rowsToDrain(rows); rows.Versions == nil && how >= changedAfterDrain {
		return
	}
	rows.New = nil
	ch := rowChange{plan: rc.run.Plan, call: rc.run.call, rows: rows, how: how, key: rc.run.args().KeyNumbers(&rows)}
	ch.locked = rc.run.rowLocked && how == changedOnBase && ch.key != nil
	ch.firm = rc.run.firm
	k, ok := rc.changeKey(&rows, how)
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
		ch.drained = old.drained && how == changedOnBase && ok && len(c.changes) < maxChanges // no other session adds to the row
	}
	if how == changedInSlot && (rows.Table.Counter.Options.Placement != schema.PlacementSkipLocked || c.Shared.Traits.MissLocks) &&
		len(c.changes) < maxChanges {
		ch.slots = append(slices.Clip(old.slots), rc.run.added.slot)
	}
	c.changes[k] = ch
}

// inSlotOf reports whether the change was made in slots of a table; nil: of any.
func (ch *rowChange) inSlotOf(t *schema.Table) bool {
	return ch.how == changedInSlot && (t == nil || ch.of(t))
}

// inSlotOf is rowChange.inSlotOf.
func (l *lateChange) inSlotOf(t *schema.Table) bool {
	return l.how == changedInSlot && (t == nil || l.rows.Table.Counter.Slotted() == t.Counter.Slotted())
}

// addedToSlots reports whether the transaction has added to slots of a table; nil: of any.
func (c *Conn) addedToSlots(t *schema.Table) bool {
	for i := range c.late {
		if c.late[i].inSlotOf(t) {
			return true
		}
	}
	for _, ch := range c.changes {
		if ch.inSlotOf(t) {
			return true
		}
	}
	return false
}

// goesOn notes that a transaction goes on to count in slots of t, or, if that is nil, to a statement that may lock any row.
func goesOn(c *Conn, t *schema.Table) {
	for i := range c.late {
		if l := &c.late[i]; l.inSlotOf(t) {
			l.plan.habit.NoteGoesOn()
		}
	}
	for _, ch := range c.changes {
		if ch.inSlotOf(t) {
			ch.plan.habit.NoteGoesOn()
		}
	}
}

// changeKey names rows and how they were changed; false for a value of a type
// whose equality is not plain.
func (rc rowChanges) changeKey(rows *rewrite.DrainTable, how changeKind) (k slots.RowKey, ok bool) {
	b := []byte{'0' + byte(how)}
	ok = true
	for _, a := range rows.Rows.Args {
		if v, has := rc.run.args().Value(a); has {
			if b, has = argument.AppendValue(append(b, ','), v); !has {
				ok = false
			}
		}
	}
	return slots.RowKey{Table: rc.run.sql(&rows.Rows), Values: string(b)}, ok
}

// noteChanges remembers what a statement has changed on the base rows.
func (rc rowChanges) noteChanges(affected int64) {
	base := &rc.run.Plan.Base
	how := changedOnBase
	switch {
	case affected == 0 && rc.run.Plan.Touched != nil && !base.LocksOthers: // of a call of several statements it is the last one's
		if len(base.Changes) == 1 && !base.Fresh && (base.Counted || base.Changes[0].Certain()) {
			rc.noteUnchanged(&base.Changes[0])
		}
		return
	case base.Fresh:
		how = changedNew
	}
	for i := range base.Changes {
		d := &base.Changes[i]
		if base.Counted && affected > 0 {
			rc.noteRowLocked(d.Table)
		}
		noteChange(rc.run, d, how)
	}
}

// noteUnchanged remembers the rows of a statement that has affected none of them. InnoDB has locked them nevertheless, and
// at READ COMMITTED gives up only those that WHERE does not meet.
func (rc rowChanges) noteUnchanged(rows *rewrite.DrainTable) {
	c := rc.conn
	if c.Shared.Traits.LocksUnchanged && (rows.Certain() || sql.IsolationLevel(c.begun) != sql.LevelReadCommitted) {
		noteChange(rc.run, rows, changedNone)
	}
}

// noteDrained remembers the rows of a drain.
func (rc rowChanges) noteDrained(tables []rewrite.DrainTable) {
	for i := range tables {
		noteChange(rc.run, &tables[i], changedAfterDrain)
	}
}

// locksFirst returns why a change of rows is to lock them before it is made: it
// is in a transaction, of a kind that reads afterwards, or of one that has read
// before and must not change what is newer. It returns byPlan if it is not.
func (rc rowChanges) locksFirst(ctx context.Context, rows *rewrite.DrainTable) (drainCause, error) {
	c := rc.conn
	if !c.Rare.Any(link.TxOpen) || !rc.run.Plan.habit.LocksFirst() {
		if !rows.Only {
			return byPlan, nil
		}
		if held, err := c.conflicts(ctx, rows.Table); err != nil || !held {
			return byPlan, err
		}
		return heldToSnapshot, nil
	}
	if rows.Only || c.Engine.Snapshots == nil || c.Shared.Traits.LocksReads {
		return readAfterwards, nil
	}
	// A row that the statement does not touch may be newer than a snapshot. (An engine that locks
	// what a statement looks at holds that to the snapshot, too.)
	if held, err := c.atSnapshot(ctx); err != nil || held {
		return byPlan, err
	}
	return readAfterwards, nil
}

// drainsFirst is locksFirst for an increment that would go to a slot. Locking first because of a later
// read only avoids a deadlock. A user without the rights to move slots would be refused for it, and so counts in a slot.
func (in increment) drainsFirst(ctx context.Context) (drainCause, error) {
	first, err := rowChangesOf(in.run).locksFirst(ctx, &in.of.Row)
	if first == readAfterwards && (in.conn.Rare.Any(link.RoleSet) || len(in.of.Table.Counter.Rights.Ungranted) > 0) {
		first = byPlan
	}
	return first, err
}

// locksByChange reports whether the increment itself is to lock its row, and the read that follows to look for slots.
// On PostgreSQL others go on to add to slots that the row has until the read folds them. So there that is for rows
// that lately had none.
func (in increment) locksByChange(first drainCause) bool {
	c := in.conn
	switch {
	case !in.fitsBase():
		return false
	case c.Shared.Traits.ChangeExcludes:
		return first != heldToSnapshot || in.hasDrained()
	}
	return first != heldToSnapshot && c.keepsSlotless(in.of.Table) && !c.snapshotBegun() && in.run.Plan.proofs.due()
}

// lockFirst locks the increment's row by a change of it, or by a drain.
func (in increment) lockFirst(ctx context.Context, first drainCause) (a answer, done bool, err error) {
	switch {
	case in.locksByChange(first):
		a, err = in.execOnBase(ctx)
		return a, true, err
	case in.run.Plan.Class == rewrite.Additive || in.of.Companions:
		in.run.cause = first
		return answer{}, false, nil
	}
	// An upsert is right whether or not its row exists. A missing row cannot be locked, and another
	// session may insert it; so it is remembered, and drained before it is read.
	dr := in.run.drainOf(&rewrite.DrainPlan{Tables: []rewrite.DrainTable{in.of.Row}})
	dr.reason, dr.adds = first.String(), true
	if a, err = dr.orRead(ctx); err == nil {
		noteChange(in.run, &in.of.Row, changedOnBase)
	}
	return a, true, err
}

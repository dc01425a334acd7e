package session

import (
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// lateChange is a change of base rows that has not been worked out: most transactions end before anything asks.
type lateChange struct {
	plan   *plan
	call   call
	rows   *rewrite.DrainTable
	at     int
	firm   bool // as in Run
	locked bool // Run.rowLocked
}

// maxLate bounds the changes of a transaction that have not been worked out.
const maxLate = 16

// note remembers a change of rows. Where one connection writes at a time no other
// changes any before the transaction ends.
func (rc rowChanges) note(rows *rewrite.DrainTable, how changeKind) {
	c := rc.conn
	if c.Shared.Traits.OneWriter || c.InAutocommit() {
		return
	}
	if how != changedOnBase || len(c.late) == maxLate {
		c.changed() // in order
	}
	c.lastChange++
	if how == changedOnBase {
		c.late = append(c.late, lateChange{rc.run.Plan, rc.run.call, rows, c.lastChange, rc.run.firm, rc.run.rowLocked})
		return
	}
	rc.remember(*rows, how, c.lastChange)
}

// changed returns the rows that the transaction has changed.
func (c *Conn) changed() map[slots.RowKey]rowChange {
	for _, l := range c.late {
		r := c.newRun(l.plan, direct{c}, l.call)
		r.firm, r.rowLocked = l.firm, l.locked
		rowChangesOf(r).remember(*l.rows, changedOnBase, l.at)
	}
	clear(c.late)
	c.late = c.late[:0]
	return c.changes
}

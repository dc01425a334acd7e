package session

import (
	"github.com/slotsql/slotsql/internal/slots"
)

// The life of a planned statement: bind its arguments, run it in one of its ways (ways.go), adapt its result. Package
// rewrite says what a plan is and how it is made.

// Run is one execution of a plan.
type Run struct {
	conn   *Conn
	Plan   *plan
	sender sender
	call   call
	// partsStay: the statement is several, each of which succeeds or fails by itself, so those
	// before an error stay. It is set before the execution begins, and never changes.
	partsStay bool

	// cause is why the execution drains, though its plan need not; byPlan as long as nothing has been found.
	cause drainCause

	// What follows is of an execution that adds to a counter.

	added    addition       // the slot that it adds to, or has added to
	row      slots.RowKey   // the row whose heat this execution is evidence of; zero: none
	standing slots.Standing // of that row, if this is the transaction's first increment of it
	firm     bool           // the increment in a slot also locks the base row against changes
	// rowLocked: its statement has changed the base row, so no other session can create a slot of
	// it.
	rowLocked bool
}

func (c *Conn) newRun(p *plan, v sender, a call) *Run {
	return &Run{conn: c, Plan: p, sender: v, call: a}
}

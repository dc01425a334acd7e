package session

import (
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
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
	fits     bool           // its arguments allow it in a slot and on the base row, whatever they are
	firm     bool           // the increment in a slot also locks the base row against changes
	// rowLocked: its statement has changed the base row, so no other session can create a slot of
	// it.
	rowLocked bool
}

func (c *Conn) newRun(p *plan, v sender, a call) *Run {
	return &Run{conn: c, Plan: p, sender: v, call: a}
}

// spares are a Run and a member that one execution leaves to the next one on its connection, so
// that an execution in a group hardly allocates. An execution takes them while it uses them:
// executions that run inside it make their own.
type spares struct {
	run    *Run
	member *slots.Member
}

// takeMember returns an empty member.
func (s *spares) takeMember() *slots.Member {
	m := s.member
	if s.member = nil; m == nil {
		m = slots.NewMember()
	}
	return m
}

// keepMember keeps a member after its last verdict. If its caller has given up, its batch still
// refers to it.
func (s *spares) keepMember(m *slots.Member, v slots.Verdict) {
	if v.Outcome != slots.OutcomeAbandoned {
		s.member = m
	}
}

// takeRun returns an execution of a plan.
func (c *Conn) takeRun(p *plan, v sender, a call) *Run {
	r := c.spares.run
	if c.spares.run = nil; r == nil {
		r = &Run{}
	}
	*r = Run{conn: c, Plan: p, sender: v, call: a}
	return r
}

// keepRun keeps an execution that has ended, unless something may still refer to it: the statement
// of a group that has outlived its caller, or rows, a drain or a snapshot.
func (c *Conn) keepRun(r *Run) {
	if r.Plan.Group == nil || r.Plan.Class == rewrite.Drain || c.detached.done != nil {
		return
	}
	*r = Run{}
	c.spares.run = r
}

// keepQueried is keepRun for a query. Observed rows do not refer to it.
func (c *Conn) keepQueried(r *Run, rows driver.Rows) {
	if _, ok := rows.(*observedRows); ok {
		*r = Run{}
		c.spares.run = r
	}
}

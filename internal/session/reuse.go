package session

import (
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// spares are what an execution leaves to the next one of its connection, so that one in a group
// allocates next to nothing. An execution takes them away while it uses them: those that it runs
// inside have their own.
type spares struct {
	run    *Run
	member *slots.Member
}

// takeMember returns a member of nothing.
func (s *spares) takeMember() *slots.Member {
	m := s.member
	if s.member = nil; m == nil {
		m = slots.NewMember()
	}
	return m
}

// keepMember keeps a member that has taken its last verdict. One whose caller has given up stays what
// it is: its batch still has it.
func (s *spares) keepMember(m *slots.Member, v slots.Verdict) {
	if v.Outcome != slots.OutcomeAbandoned {
		s.member = m
	}
}

// takeRun returns one of a plan.
func (c *Conn) takeRun(p *plan, v sender, a call) *Run {
	r := c.spares.run
	if c.spares.run = nil; r == nil {
		r = &Run{}
	}
	*r = Run{conn: c, Plan: p, sender: v, call: a}
	return r
}

// keepRun keeps an execution that has ended and that nothing refers to any more. The statement of a
// group that has outlived its caller does, and so may what returns rows, drains or holds a snapshot.
func (c *Conn) keepRun(r *Run) {
	if r.Plan.Group == nil || r.Plan.Class == rewrite.Drain || c.detached.done != nil {
		return
	}
	*r = Run{}
	c.spares.run = r
}

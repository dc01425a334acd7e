package session

import (
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

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

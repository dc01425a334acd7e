package rewrite

import (
	"strings"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file has what a plan that several statements share says of each of them: pieces with
// holes, and what a statement has there.

// Holes is what one statement has in the holes of its shape. A plan that it shares with others
// takes these from it as it takes the arguments from an execution: whoever binds a statement's
// arguments asks for its SQL.
type Holes struct {
	plan *SharedPlan
	sql  string // the statement
	at   []lex.Field
	made []atomic.Pointer[string] // by holed.number
}

// SQL is a statement of a plan, or a piece of one.
type SQL struct {
	same  string // where all statements of the plan have the same
	holed *holed // nil there
}

// Whole returns SQL that has no holes.
func Whole(sql string) SQL { return SQL{same: sql} }

// Of returns the SQL for a statement. It is made when it is first asked for: few executions
// need more than one or two of a plan's statements.
func (s *SQL) Of(h *Holes) string {
	if s.holed == nil {
		return s.same
	}
	h.check(s.holed.plan)
	if s.holed.number == unmade {
		return s.holed.fill(h.sql, h.at)
	}
	if made := h.made[s.holed.number].Load(); made != nil {
		return *made
	}
	made := s.holed.fill(h.sql, h.at)
	h.made[s.holed.number].Store(&made)
	return made
}

// check panics where a statement is not one of those that share a plan: nothing it has belongs
// into the plan's holes.
func (h *Holes) check(plan *SharedPlan) {
	if h == nil || h.plan != plan {
		panic("rewrite: a shared plan is asked for the SQL of a statement that is not its own")
	}
}

// holed is SQL with holes.
type holed struct {
	plan   *SharedPlan
	number int     // among those of the plan that are made; or unmade
	pieces []piece // nil for the statement itself
}

// unmade is the number of what stands in the statement as it is.
const unmade = -1

// piece is a string, followed by what the statement has from one hole to another.
type piece struct {
	same        string
	first, last int // -1: nothing follows
}

func (x *holed) fill(sql string, holes []lex.Field) string {
	switch {
	case x.pieces == nil:
		return sql
	case x.inStatement():
		return x.pieces[0].of(sql, holes)
	}
	size := 0
	for _, p := range x.pieces {
		size += len(p.same) + len(p.of(sql, holes))
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range x.pieces {
		b.WriteString(p.same)
		b.WriteString(p.of(sql, holes))
	}
	return b.String()
}

// inStatement reports whether it stands in the statement as it is, so that nothing is made.
func (x *holed) inStatement() bool {
	return x.pieces == nil || len(x.pieces) == 1 && x.pieces[0].same == ""
}

func (p *piece) of(sql string, holes []lex.Field) string {
	if p.first < 0 {
		return ""
	}
	return sql[holes[p.first].Start:holes[p.last].End]
}

// Literal is a number of a plan.
type Literal struct {
	same   int64
	figure *figure // nil where all statements of the plan have the same
}

// figure is what a number is in the statement: the digits in a hole, times a power of 10.
type figure struct {
	plan *SharedPlan
	hole int
	unit int64 // negative for a negated one
}

// Of returns the number for a statement.
func (l Literal) Of(h *Holes) int64 {
	if l.figure == nil {
		return l.same
	}
	h.check(l.figure.plan)
	at := h.at[l.figure.hole]
	return digitsOf(h.sql[at.Start:at.End]) * l.figure.unit
}

// digitsOf returns the number that all digits of a literal make.
func digitsOf(literal string) (n int64) {
	for i := range len(literal) {
		if literal[i] != '.' {
			n = n*10 + int64(literal[i]-'0')
		}
	}
	return n
}

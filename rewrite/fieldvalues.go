package rewrite

import (
	"strings"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// A plan that several statements share has SQL with fields, and each statement has values for them.

// FieldValues are what one statement has in the fields of its shape. A shared plan needs them as a
// prepared statement needs its arguments: its SQL is read with them when an execution's arguments
// are bound.
type FieldValues struct {
	plan *SharedPlan
	sql  string // the statement
	at   []lex.Field
	made []atomic.Pointer[string] // by pattern.number
}

// SQL is a statement of a plan, or a piece of one.
type SQL struct {
	same    string   // if it is the same for all statements of the plan
	pattern *pattern // nil if there is none
}

// Whole returns SQL without fields.
func Whole(sql string) SQL { return SQL{same: sql} }

// Of returns the SQL for a statement. It is made at the first call: few executions need more than
// one or two of a plan's statements.
func (s *SQL) Of(h *FieldValues) string {
	if s.pattern == nil {
		return s.same
	}
	h.check(s.pattern.plan)
	if s.pattern.number == verbatim {
		return s.pattern.fill(h.sql, h.at)
	}
	if made := h.made[s.pattern.number].Load(); made != nil {
		return *made
	}
	made := s.pattern.fill(h.sql, h.at)
	h.made[s.pattern.number].Store(&made)
	return made
}

// check panics if the statement is not one of those that share a plan: its values do not belong
// into that plan's fields.
func (h *FieldValues) check(plan *SharedPlan) {
	if h == nil || h.plan != plan {
		panic("rewrite: a shared plan is read with the field values of another plan")
	}
}

// pattern is SQL with fields.
type pattern struct {
	plan   *SharedPlan
	number int     // among the patterns of the plan that are filled, or verbatim
	pieces []piece // nil for the statement itself
}

// verbatim is the number of a pattern that is a part of the statement as it is.
const verbatim = -1

// piece is a string, followed by the part of the statement from one field to another.
type piece struct {
	same        string
	first, last int // -1: nothing follows
}

func (x *pattern) fill(sql string, fields []lex.Field) string {
	switch {
	case x.pieces == nil:
		return sql
	case x.inStatement():
		return x.pieces[0].of(sql, fields)
	}
	size := 0
	for _, p := range x.pieces {
		size += len(p.same) + len(p.of(sql, fields))
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range x.pieces {
		b.WriteString(p.same)
		b.WriteString(p.of(sql, fields))
	}
	return b.String()
}

// inStatement reports whether the pattern is a part of the statement as it is, so that it need not be filled.
func (x *pattern) inStatement() bool {
	return x.pieces == nil || len(x.pieces) == 1 && x.pieces[0].same == ""
}

func (p *piece) of(sql string, fields []lex.Field) string {
	if p.first < 0 {
		return ""
	}
	return sql[fields[p.first].Start:fields[p.last].End]
}

// Literal is a number of a plan.
type Literal struct {
	same   int64
	number *fieldNumber // nil if it is the same for all statements of the plan
}

// fieldNumber is how a number is read from a statement: the digits in a field, times a power of 10.
type fieldNumber struct {
	plan  *SharedPlan
	field int
	unit  int64 // negative for a negated one
}

// Of returns the number for a statement.
func (l Literal) Of(h *FieldValues) int64 {
	if l.number == nil {
		return l.same
	}
	h.check(l.number.plan)
	at := h.at[l.number.field]
	return digitsOf(h.sql[at.Start:at.End]) * l.number.unit
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

package rewrite

import (
	"reflect"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file finds what of a shared plan comes from the marks in its statement, and makes holes
// there.

// cook makes holes in a plan in the place of marks; false where that cannot be done.
func (s *SharedPlan) cook(plan *Plan, m *marks, sql string) bool {
	c := cook{SharedPlan: s, marks: m, sql: sql, strings: map[string]*holed{}}
	s.plan, s.heads, s.holed, s.made = plan, nil, false, 0
	for _, of := range heads {
		at := of(plan)
		if x := c.holes(*at); x != nil {
			s.heads = append(s.heads, head{of, x})
			*at = ""
		}
	}
	c.value(reflect.ValueOf(plan).Elem())
	return !c.failed
}

// cook is the work on one shared plan.
type cook struct {
	*SharedPlan
	marks   *marks
	sql     string
	strings map[string]*holed
	failed  bool
}

// value makes holes in a value and in all that it refers to. It fails for a mark in anything but
// a SQL or a Literal: no statement would have its own there.
func (c *cook) value(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[SQL](), reflect.TypeFor[Literal]():
		if !v.CanSet() {
			c.failed = true
			return
		}
		switch x := v.Addr().Interface().(type) {
		case *SQL:
			c.inSQL(x)
		case *Literal:
			c.inLiteral(x)
		}
		return
	case reflect.TypeFor[*Table](), reflect.TypeFor[[]*Table]():
		return
	}
	switch v.Kind() {
	case reflect.String:
		c.leftOver(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			c.value(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
		c.failed = c.failed || !v.IsZero()
	}
}

func (c *cook) inSQL(s *SQL) {
	if s.holed != nil || s.same == "" {
		return
	}
	x, ok := c.strings[s.same]
	if !ok {
		if x = c.holes(s.same); x != nil {
			x.plan, x.number, c.holed = c.SharedPlan, unmade, true
			if !x.inStatement() {
				x.number, c.made = c.made, c.made+1
			}
		}
		c.strings[s.same] = x
	}
	if x != nil {
		*s = SQL{holed: x}
	}
}

// holes returns a string with holes, nil where it has no mark.
func (c *cook) holes(s string) *holed {
	if s == c.sql {
		return &holed{}
	}
	pieces := c.pieces(s)
	if len(pieces) == 0 || pieces[0].first < 0 {
		return nil
	}
	return &holed{pieces: pieces}
}

// pieces cuts a string at the marks. Marks that follow each other as in the statement, with
// the same between them, are one piece.
func (c *cook) pieces(s string) []piece {
	var out []piece
	rest := s
	for {
		i, at := c.nextMark(s, rest)
		if i < 0 {
			break
		}
		own := rest[:at]
		rest = rest[at+len(c.marks.list[i]):]
		if n := len(out); n > 0 && c.next(out[n-1].last) == i && own == c.textBetween(out[n-1].last, i) {
			out[n-1].last = i
			continue
		}
		out = append(out, piece{own, i, i})
	}
	for i := range out {
		c.leftOver(out[i].same)
	}
	if c.leftOver(rest); rest != "" {
		out = append(out, piece{rest, -1, -1})
	}
	return out
}

// leftOver fails where a string has what a mark stands for otherwise than the statement.
func (c *cook) leftOver(own string) {
	for _, mark := range c.marks.list {
		if mark != "" && !lex.IsDigit(mark[0]) && strings.Contains(own, value(mark)) {
			c.failed = true
		}
	}
}

// nextMark finds the first mark in the rest of a string.
func (c *cook) nextMark(s, rest string) (hole, at int) {
	hole, at = -1, len(rest)
	for i, mark := range c.marks.list {
		if mark == "" {
			continue
		}
		j := strings.Index(rest, mark)
		if j < 0 || j >= at {
			continue
		}
		before, after := len(s)-len(rest)+j-1, j+len(mark)
		if lex.IsDigit(mark[0]) && (before >= 0 && numeric(s[before]) || after < len(rest) && numeric(rest[after])) ||
			mark[0] == '\'' && (before >= 0 && s[before] == '\'' || after < len(rest) && rest[after] == '\'') {
			c.failed = true
			return -1, 0
		}
		hole, at = i, j
	}
	return hole, at
}

// numeric reports whether a byte next to a number may be a part of it.
func numeric(b byte) bool { return lex.IsWordPart(b) || b == '.' }

// next returns the hole with a mark behind another one, -1 for none.
func (c *cook) next(i int) int {
	for i++; i < len(c.marks.list); i++ {
		if c.marks.list[i] != "" {
			return i
		}
	}
	return -1
}

// textBetween returns what the marked statement has between the marks of two holes.
func (c *cook) textBetween(i, j int) string {
	a, b := c.marks.list[i], c.marks.list[j]
	start := strings.Index(c.sql, a) + len(a)
	return c.sql[start : start+strings.Index(c.sql[start:], b)]
}

// inLiteral makes a hole of a number: of one that is a mark's, in units of some digit behind
// the point.
func (c *cook) inLiteral(l *Literal) {
	if l.figure != nil || l.same < 100 && l.same > -100 {
		return
	}
	for i, mark := range c.marks.list {
		if mark == "" || !lex.IsDigit(mark[0]) {
			continue
		}
		of, unit := digitsOf(mark), int64(1)
		for range 1 + maxShareScale {
			switch l.same {
			case of * unit:
				*l, c.holed = Literal{figure: &figure{c.SharedPlan, i, unit}}, true
				return
			case -of * unit:
				*l, c.holed = Literal{figure: &figure{c.SharedPlan, i, -unit}}, true
				return
			}
			unit *= 10
		}
	}
}

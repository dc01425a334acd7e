package rewrite

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file has a statement planned whose literals are unknown.
//
// The planner is given marks in their place: literals of the same kind that occur nowhere
// else. Where it decides by a literal it says so, by a call of noted, and the literal is
// known from then on: it is part of what a shared plan is for. Of all others only the
// mark comes out in the plan, at each place where the literal is to stand.

// marks are the marks of one planning.
type marks struct {
	list   []string // by hole, "" for what is known
	looked []bool   // by hole: the planner has decided by it
}

// newMarks makes marks for an outline's holes, but for those that are known.
func newMarks(o *lex.Shape, known []bool) *marks {
	m := &marks{list: make([]string, len(o.Fields)), looked: make([]bool, len(o.Fields))}
	n := 0
	for i, h := range o.Fields {
		if known[i] {
			continue
		}
		for {
			n++
			if m.list[i] = markOf(h.Kind, n); !strings.Contains(o.SQL, value(m.list[i])) {
				break
			}
		}
	}
	return m
}

// markOf returns the n-th mark of a kind.
func markOf(k lex.FieldKind, n int) string {
	digits := strconv.Itoa(n)
	padded := strings.Repeat("0", max(0, 4-len(digits))) + digits
	switch k {
	case lex.GapField:
		return "/*~g" + padded + "~*/"
	case lex.SmallField:
		return strconv.Itoa(9973 - 3*n)
	case lex.MiddleField:
		return "83719" + padded
	case lex.LargeField:
		return "83719264500173" + padded
	case lex.StringField:
		return "'~s" + padded + "~\u00e9'"
	case lex.ShortField:
		return "'~t" + padded + "~'"
	}
	return strconv.Itoa(9973-3*n) + "." + "83719264"[:k-lex.PointField]
}

// value returns what of a mark stands in a value that is read from it.
func value(mark string) string { return strings.Trim(mark, "'") }

// text writes the statement with marks in the place of what they stand for.
func (m *marks) text(o *lex.Shape) string {
	var b strings.Builder
	end := uint16(0)
	for i, h := range o.Fields {
		if m.list[i] != "" {
			b.WriteString(o.SQL[end:h.Start])
			b.WriteString(m.list[i])
			end = h.End
		}
	}
	b.WriteString(o.SQL[end:])
	return b.String()
}

// noted notes that the planner decides by a piece of the statement, or by a value that it
// has, and returns that.
func (pl *Planner) noted(s string) string {
	pl.eachMark(s, func(i int, _ string) { pl.marks.looked[i] = true })
	return s
}

// noteAbove notes that the planner decides by whether a number's literal is above n in
// magnitude, where that is not the same for all of its kind.
func (pl *Planner) noteAbove(literal string, n int64) {
	pl.eachMark(literal, func(i int, mark string) {
		whole, _, point := strings.Cut(mark, ".")
		least, most := int64(1), int64(9_999)
		switch {
		case point:
			most++
		case len(whole) == 9:
			least, most = 10_000, 999_999_999
		case len(whole) == 18:
			least, most = 1_000_000_000, 999_999_999_999_999_999
		}
		if least <= n && n < most {
			pl.marks.looked[i] = true
		}
	})
}

// noteBehind notes that the planner decides by the digits that a number's literal has behind
// the point, zeros at the end apart, where there may be more than scale.
func (pl *Planner) noteBehind(literal string, scale int) {
	pl.eachMark(literal, func(i int, mark string) {
		if _, behind, _ := strings.Cut(mark, "."); len(behind) > scale {
			pl.marks.looked[i] = true
		}
	})
}

// short reports whether a string is that of a mark for short ones.
func (pl *Planner) short(s string) (found bool) {
	pl.eachMark(s, func(_ int, mark string) { found = found || value(mark) == s && s[1] == 't' })
	return found
}

// eachMark calls f for the marks in a piece of the statement.
func (pl *Planner) eachMark(s string, f func(i int, mark string)) {
	if pl.marks == nil {
		return
	}
	for i, mark := range pl.marks.list {
		if mark != "" && strings.Contains(s, value(mark)) {
			f(i, mark)
		}
	}
}

// parse has the dialect parse a statement. A literal that has become a name, or anything
// else but a value, decides on the plan.
func (p *planning) parse(sql string) (*Statement, error) {
	st, err := p.d.Parse(sql)
	if p.marks != nil && err == nil {
		p.noteIn(reflect.ValueOf(st), 0)
	}
	return st, err
}

// noteIn notes the literals in strings of a tree that are no values.
func (p *planning) noteIn(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if e, ok := v.Interface().(*Expr); ok && e != nil && (e.Kind == String || e.Kind == Number) {
			return
		}
		p.noteIn(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			p.noteIn(v.Field(i), depth+1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.noteIn(v.Index(i), depth+1)
		}
	case reflect.String:
		p.noted(v.String())
	}
}

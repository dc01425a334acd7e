package rewrite

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// To plan a statement for all literals at once, the planner is given sentinels in their place:
// literals of the same kind that occur nowhere else. A decision that depends on a literal is
// reported by a call of noted, and that literal is known from then on: the shared plan is for
// statements that have it. For all others the plan contains the sentinel, at each place where the
// literal belongs.

// sentinels are those of one planning. It is nil where all literals are known: then nothing is noted.
type sentinels struct {
	list   []string // by field, "" for what is known
	looked []bool   // by field: a decision depends on it
}

// newSentinels makes sentinels for the fields of a shape that are not known.
func newSentinels(o *lex.Shape, known []bool) *sentinels {
	m := &sentinels{list: make([]string, len(o.Fields)), looked: make([]bool, len(o.Fields))}
	n := 0
	for i, h := range o.Fields {
		if known[i] {
			continue
		}
		for {
			n++
			if m.list[i] = sentinelOf(h.Kind, n); !strings.Contains(o.SQL, value(m.list[i])) {
				break
			}
		}
	}
	return m
}

// sentinelOf returns the n-th sentinel of a kind of field.
func sentinelOf(k lex.FieldKind, n int) string {
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

// value returns the part of a sentinel that is in the value read from it.
func value(sentinel string) string { return strings.Trim(sentinel, "'") }

// text writes the statement with the sentinels.
func (m *sentinels) text(o *lex.Shape) string {
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

// noted records that a decision depends on a piece of the statement, or on a value read from it,
// and returns the piece.
func (m *sentinels) noted(s string) string {
	m.each(s, func(i int, _ string) { m.looked[i] = true })
	return s
}

// noteAbove records that a decision depends on whether a number is above n in magnitude, unless that
// is the same for all numbers of its kind.
func (m *sentinels) noteAbove(literal string, n int64) {
	m.each(literal, func(i int, sentinel string) {
		whole, _, point := strings.Cut(sentinel, ".")
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
			m.looked[i] = true
		}
	})
}

// noteBehind records that a decision depends on the digits of a number after the point, without
// zeros at the end, unless there cannot be more than scale.
func (m *sentinels) noteBehind(literal string, scale int) {
	m.each(literal, func(i int, sentinel string) {
		if _, behind, _ := strings.Cut(sentinel, "."); len(behind) > scale {
			m.looked[i] = true
		}
	})
}

// short reports whether a string is the sentinel of a short string.
func (m *sentinels) short(s string) (found bool) {
	m.each(s, func(_ int, sentinel string) { found = found || value(sentinel) == s && s[1] == 't' })
	return found
}

// eachSentinel calls f for the sentinels in a piece of the statement.
func (m *sentinels) each(s string, f func(i int, sentinel string)) {
	if m == nil {
		return
	}
	for i, sentinel := range m.list {
		if sentinel != "" && strings.Contains(s, value(sentinel)) {
			f(i, sentinel)
		}
	}
}

// parse has the dialect parse a statement. The plan depends on each literal that has become a name,
// or anything else except a value.
func parse(d Dialect, m *sentinels, sql string) (*ast.Statement, error) {
	st, err := d.Parse(sql)
	if m != nil && err == nil {
		m.noteIn(reflect.ValueOf(st), 0)
	}
	return st, err
}

// noteIn records the literals in those strings of a syntax tree that are not values.
func (m *sentinels) noteIn(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if e, ok := v.Interface().(*ast.Expr); ok && e != nil && (e.Kind == ast.String || e.Kind == ast.Number) {
			return
		}
		m.noteIn(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			m.noteIn(v.Field(i), depth+1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			m.noteIn(v.Index(i), depth+1)
		}
	case reflect.String:
		m.noted(v.String())
	}
}

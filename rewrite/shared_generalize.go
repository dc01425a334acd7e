package rewrite

import (
	"reflect"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// generalize turns the plan of a statement with sentinels into one for all statements of the shape:
// it puts fields in the place of sentinels. It returns false if that cannot be done.
func (s *SharedPlan) generalize(plan *Plan, m *sentinels, sql string) bool {
	c := generalizer{SharedPlan: s, sentinels: m, sql: sql, strings: map[string]*pattern{}}
	s.plan, s.heads, s.varies, s.made = plan, nil, false, 0
	for _, of := range heads {
		at := of(plan)
		if x := c.pattern(*at); x != nil {
			s.heads = append(s.heads, head{of, x})
			*at = ""
		}
	}
	c.value(reflect.ValueOf(plan).Elem())
	return !c.failed
}

// generalizer works on one shared plan.
type generalizer struct {
	*SharedPlan
	sentinels *sentinels
	sql       string
	strings   map[string]*pattern
	failed    bool
}

// value puts fields into a value and everything that it refers to. It fails for a sentinel in
// anything except a SQL or a Literal, since only these can be filled for a statement.
func (c *generalizer) value(v reflect.Value) {
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
	case reflect.TypeFor[*schema.Table](), reflect.TypeFor[[]*schema.Table]():
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

func (c *generalizer) inSQL(s *SQL) {
	if s.pattern != nil || s.same == "" {
		return
	}
	x, ok := c.strings[s.same]
	if !ok {
		if x = c.pattern(s.same); x != nil {
			x.plan, x.number, c.varies = c.SharedPlan, verbatim, true
			if !x.inStatement() {
				x.number, c.made = c.made, c.made+1
			}
		}
		c.strings[s.same] = x
	}
	if x != nil {
		*s = SQL{pattern: x}
	}
}

// pattern returns a string with fields; nil if it has no sentinel.
func (c *generalizer) pattern(s string) *pattern {
	if s == c.sql {
		return &pattern{}
	}
	pieces := c.pieces(s)
	if len(pieces) == 0 || pieces[0].first < 0 {
		return nil
	}
	return &pattern{pieces: pieces}
}

// pieces divides a string at the sentinels. Sentinels that follow each other as in the statement,
// with the same SQL between them, are one piece.
func (c *generalizer) pieces(s string) []piece {
	var out []piece
	rest := s
	for {
		i, at := c.nextSentinel(s, rest)
		if i < 0 {
			break
		}
		own := rest[:at]
		rest = rest[at+len(c.sentinels.list[i]):]
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

// leftOver fails if a string contains the value of a sentinel in another spelling than the statement.
func (c *generalizer) leftOver(own string) {
	for _, sentinel := range c.sentinels.list {
		if sentinel != "" && !lex.IsDigit(sentinel[0]) && strings.Contains(own, value(sentinel)) {
			c.failed = true
		}
	}
}

// nextSentinel finds the first sentinel in the rest of a string.
func (c *generalizer) nextSentinel(s, rest string) (field, at int) {
	field, at = -1, len(rest)
	for i, sentinel := range c.sentinels.list {
		if sentinel == "" {
			continue
		}
		j := strings.Index(rest, sentinel)
		if j < 0 || j >= at {
			continue
		}
		before, after := len(s)-len(rest)+j-1, j+len(sentinel)
		if lex.IsDigit(sentinel[0]) && (before >= 0 && numeric(s[before]) || after < len(rest) && numeric(rest[after])) ||
			sentinel[0] == '\'' && (before >= 0 && s[before] == '\'' || after < len(rest) && rest[after] == '\'') {
			c.failed = true
			return -1, 0
		}
		field, at = i, j
	}
	return field, at
}

// numeric reports whether a byte next to a number may be a part of it.
func numeric(b byte) bool { return lex.IsWordPart(b) || b == '.' }

// next returns the next field that has a sentinel, -1 for none.
func (c *generalizer) next(i int) int {
	for i++; i < len(c.sentinels.list); i++ {
		if c.sentinels.list[i] != "" {
			return i
		}
	}
	return -1
}

// textBetween returns the SQL between the sentinels of two fields.
func (c *generalizer) textBetween(i, j int) string {
	a, b := c.sentinels.list[i], c.sentinels.list[j]
	start := strings.Index(c.sql, a) + len(a)
	return c.sql[start : start+strings.Index(c.sql[start:], b)]
}

// inLiteral makes a field of a number that is a sentinel's, in units of some digit after the point.
func (c *generalizer) inLiteral(l *Literal) {
	if l.number != nil || l.same < 100 && l.same > -100 {
		return
	}
	for i, sentinel := range c.sentinels.list {
		if sentinel == "" || !lex.IsDigit(sentinel[0]) {
			continue
		}
		of, unit := digitsOf(sentinel), int64(1)
		for range 1 + maxShareScale {
			switch l.same {
			case of * unit:
				*l, c.varies = Literal{number: &fieldNumber{c.SharedPlan, i, unit}}, true
				return
			case -of * unit:
				*l, c.varies = Literal{number: &fieldNumber{c.SharedPlan, i, -unit}}, true
				return
			}
			unit *= 10
		}
	}
}

package rewrite

import (
	"reflect"
	"strings"
)

// This file finds what of a shared plan comes from the marks in its statement.

// node says what of a value is made for each statement. The zero kind is a struct.
type node struct {
	kind     reflect.Kind
	children []child
	recipe   int // of a string
	number   number
	made     int // number of a pointer or slice: two places may have the same
}

type child struct {
	index int
	node  *node
}

// number is an integer that a hole has: with its point taken away, times a power of 10.
type number struct {
	hole int
	unit int64 // negative for a negated one
}

// cook finds what of a plan comes from marks; false where that cannot be found out.
func (s *SharedPlan) cook(plan *Plan, m *marks, sql string) bool {
	c := cook{SharedPlan: s, marks: m, sql: sql, strings: map[string]int{}, shared: map[sharedPlace]*node{}}
	s.plan, s.recipes, s.made = plan, nil, 0
	s.root = c.value(reflect.ValueOf(plan).Elem())
	return !c.failed
}

// cook is the work on one shared plan.
type cook struct {
	*SharedPlan
	marks   *marks
	sql     string
	strings map[string]int
	shared  map[sharedPlace]*node
	failed  bool
}

// sharedPlace is a pointer or a slice.
type sharedPlace struct {
	at  uintptr
	len int
	typ reflect.Type
}

// value returns how a value is made, nil where nothing of it varies.
func (c *cook) value(v reflect.Value) *node {
	switch v.Kind() {
	case reflect.String:
		return c.str(v.String())
	case reflect.Int64, reflect.Int:
		return c.int(v.Int())
	case reflect.Struct:
		n := &node{kind: reflect.Struct}
		for i := range v.NumField() {
			n.add(i, c.field(v, i))
		}
		return n.orNil()
	case reflect.Pointer, reflect.Slice:
		if v.IsNil() || v.Type() == reflect.TypeFor[*Table]() || v.Type() == reflect.TypeFor[[]*Table]() {
			return nil
		}
		place := sharedPlace{v.Pointer(), 0, v.Type()}
		if v.Kind() == reflect.Slice {
			place.len = v.Len()
		}
		if n, ok := c.shared[place]; ok {
			return n
		}
		n := &node{kind: v.Kind()}
		if v.Kind() == reflect.Pointer {
			n.add(0, c.value(v.Elem()))
		}
		for i := range place.len {
			n.add(i, c.value(v.Index(i)))
		}
		if n = n.orNil(); n != nil {
			n.made = c.made
			c.made++
		}
		c.shared[place] = n
		return n
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
		c.failed = c.failed || !v.IsZero()
	}
	return nil
}

func (c *cook) field(v reflect.Value, i int) *node {
	n := c.value(v.Field(i))
	if n != nil && !v.Type().Field(i).IsExported() {
		c.failed = true
	}
	return n
}

func (n *node) add(i int, c *node) {
	if c != nil {
		n.children = append(n.children, child{i, c})
	}
}

func (n *node) orNil() *node {
	if len(n.children) == 0 {
		return nil
	}
	return n
}

// str returns how a string is made.
func (c *cook) str(s string) *node {
	if s == "" {
		return nil
	}
	at, ok := c.strings[s]
	if !ok {
		r := recipe{everything: s == c.sql}
		if !r.everything {
			r.pieces = c.pieces(s)
		}
		if at = -1; r.everything || len(r.pieces) > 1 || len(r.pieces) == 1 && r.pieces[0].first >= 0 {
			at = len(c.recipes)
			c.recipes = append(c.recipes, r)
		}
		c.strings[s] = at
	}
	if at < 0 {
		return nil
	}
	return &node{kind: reflect.String, recipe: at}
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
		c.leftOver(out[i].own)
	}
	if c.leftOver(rest); rest != "" {
		out = append(out, piece{rest, -1, -1})
	}
	return out
}

// leftOver fails where a string has what a mark stands for otherwise than the statement.
func (c *cook) leftOver(own string) {
	for _, mark := range c.marks.list {
		if mark != "" && !isDigit(mark[0]) && strings.Contains(own, value(mark)) {
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
		if isDigit(mark[0]) && (before >= 0 && numeric(s[before]) || after < len(rest) && numeric(rest[after])) ||
			mark[0] == '\'' && (before >= 0 && s[before] == '\'' || after < len(rest) && rest[after] == '\'') {
			c.failed = true
			return -1, 0
		}
		hole, at = i, j
	}
	return hole, at
}

// numeric reports whether a byte next to a number may be a part of it.
func numeric(b byte) bool { return isWordPart(b) || b == '.' }

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

// int returns how an integer is made: one that is a mark's, in units of some digit behind
// the point.
func (c *cook) int(n int64) *node {
	if n < 100 && n > -100 {
		return nil
	}
	for i, mark := range c.marks.list {
		if mark == "" || !isDigit(mark[0]) {
			continue
		}
		of, unit := digitsOf(mark), int64(1)
		for range 1 + maxShareScale {
			switch n {
			case of * unit:
				return &node{kind: reflect.Int64, number: number{i, unit}}
			case -of * unit:
				return &node{kind: reflect.Int64, number: number{i, -unit}}
			}
			unit *= 10
		}
	}
	return nil
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

package lex

import (
	"strings"
	"unicode/utf8"
)

// Statements that differ in literals, comments and white space only have the same shape, and can
// share a plan: docs/contributing/life-of-a-statement.md.

// A Shape is a statement divided into its Key, which all statements of the shape have in common,
// and fields: the parts in which they differ. Scan overwrites it.
type Shape struct {
	Key    []byte
	SQL    string
	Fields []Field
}

// A Field is a literal, or white space and comments between two tokens.
type Field struct {
	Start, End uint16
	Kind       FieldKind
}

// FieldKind says what a field may contain. Parsers and engines treat everything of one kind in the
// same way. Numbers of one kind have about as many digits, so that most limits are above or below
// all of them.
type FieldKind byte

// The kinds of field.
const (
	GapField    FieldKind = 1 + iota // white space and comments, never nothing
	SmallField                       // an integer of 1 to 4 digits, not 0
	MiddleField                      // of 5 to 9 digits
	LargeField                       // of 10 to 18 digits
	StringField                      // '...' without an escape
	ShortField                       // one of up to MaxShort characters, all of them printable ASCII
	PointField                       // + n: 1 to 4 digits, not 0, then a point and n digits
)

// Limits of a statement that can share a plan, and of its fields.
const (
	maxShaped = 4 << 10 // bytes; offsets are 16 bits
	maxFields = 192
	maxPoint  = 8  // digits after a point
	MaxShort  = 30 // characters
	maxDepth  = 60 // of parentheses
)

// Scan divides a statement. It reports false for one that cannot share a plan: several statements,
// one that does not read or change rows, one that the scanner does not fully understand, and
// one with a comment that means something to slotsql or the engine. byText is set for an engine
// that names result columns by their SQL. names reports whether a string may name a table that
// plans depend on.
func (s *Shape) Scan(rules *Rules, byText bool, sql string, names func(string) bool) bool {
	*s = Shape{s.Key[:0], sql, s.Fields[:0]}
	if len(sql) > maxShaped || rules.Foreign || rules.Wide != nil {
		return false
	}
	sc := Scanner{rules: rules, sql: sql}
	c := shaper{Shape: s, names: names, byText: byText}
	for {
		t := sc.Next()
		switch {
		case t.Kind == Bad || sc.Exec || !c.gap(t):
			return false
		case t.Kind == EOF:
			return c.last.End > 0 && len(s.Fields) <= maxFields
		case c.ended || !c.token(t):
			return false
		}
		c.before, c.last = c.last, t
	}
}

// Known appends to buf the fields on which the planner's decisions depend, as a key: statements of
// one shape that agree in these have the same plan. known says which they are.
func (s *Shape) Known(buf []byte, known []bool) []byte {
	for i, k := range known {
		if k {
			buf = append(append(buf, s.SQL[s.Fields[i].Start:s.Fields[i].End]...), 0)
		}
	}
	return buf
}

// shaper divides one statement.
type shaper struct {
	*Shape
	names        func(string) bool
	before, last Token
	ended        bool   // by a semicolon
	depth        int    // of parentheses
	kept         uint64 // a bit for each depth, the current one last: literals there are part of the shape
	items        uint64 // likewise: it is a list of result columns
	byText       bool   // result columns are named by their expression, as it is written
	inserts      bool   // the first word is INSERT or REPLACE
	keptNumber   bool   // last is a number that is part of the shape
}

// gap adds the white space and comments before a token.
func (c *shaper) gap(next Token) bool {
	text := c.SQL[c.last.End:next.Start]
	switch {
	case text == "":
		return true
	case text != " " && !meaningless(text):
		return false
	case c.last.Kind == String && next.Kind == String, c.last.Kind == Operator && c.SQL[c.last.End-1] == '/',
		c.last.Kind == Number && c.SQL[c.last.End-1] == '.',
		c.byText && c.items&1 != 0 && next.Kind != EOF && !c.is(c.last, "SELECT"):
		// A string that goes on after a line break; what a comment would make another
		// token; a number that a parser takes with what follows; a part of a name.
		c.Key = append(append(append(c.Key, asWritten), text...), asWritten)
		return true
	}
	c.field(Span{c.last.End, next.Start}, GapField)
	return true
}

// asWritten stands, in a Key, before and after a gap that is part of the shape.
const asWritten = 0x10

func (c *shaper) is(t Token, word string) bool { return strings.EqualFold(c.SQL[t.Start:t.End], word) }

// meaningless reports whether a gap means nothing to slotsql and the engine. A vertical tab is no
// white space to SQLite, nor to PostgreSQL before version 16.
func meaningless(gap string) bool {
	for i := range len(gap) {
		if gap[i] < ' ' && !isSpace(gap[i]) || gap[i] == '\v' ||
			gap[i] == '/' && i+2 < len(gap) && gap[i+1] == '*' && strings.IndexByte("+!M", gap[i+2]) >= 0 {
			return false
		}
	}
	return !ContainsFold(gap, "slotsql") && !ContainsFold(gap, "set_config") && !ContainsFold(gap, "search_path")
}

func (c *shaper) field(sp Span, k FieldKind) {
	c.Fields = append(c.Fields, Field{uint16(sp.Start), uint16(sp.End), k})
	c.Key = append(c.Key, byte(k))
}

// token adds a token.
func (c *shaper) token(t Token) bool {
	text := c.SQL[t.Start:t.End]
	if c.last.End == 0 && (t.Kind != Word || !ofRows(text)) {
		return false
	}
	var k FieldKind
	switch t.Kind {
	case Word:
		c.word(text)
	case Operator:
		if !c.operator(text) {
			return false
		}
	case Number:
		if !c.stays(t) {
			k = numberKind(text)
		}
		c.keptNumber = k == 0
	case String:
		if c.kept&1 == 0 && c.varies(t, text) {
			k = stringKind(text)
		}
		fallthrough
	default:
		if k == 0 && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return false // it might be taken for a field
		}
	}
	if k != 0 {
		c.field(t.Span, k)
	} else {
		c.Key = append(c.Key, text...)
	}
	return true
}

// word sets what the clause that a word begins does with literals.
func (c *shaper) word(text string) {
	if c.last.End == 0 {
		c.inserts = strings.EqualFold(text, "INSERT") || strings.EqualFold(text, "REPLACE")
	}
	keep, items, clause := clauseOf(text)
	if !clause {
		return
	}
	if len(text) == len("VALUES") && !c.inserts && strings.EqualFold(text, "VALUES") {
		keep = 1 // columns of a table
	}
	c.kept, c.items = c.kept&^1|keep, c.items&^1|items
}

func (c *shaper) operator(text string) bool {
	switch text {
	case ";":
		c.ended = true
	case "(":
		c.depth++
		c.kept, c.items = c.kept<<1|c.kept&1, c.items<<1|c.items&1
	case ")":
		c.depth--
		c.kept, c.items = c.kept>>1, c.items>>1
	}
	return c.depth >= 0 && c.depth < maxDepth
}

// stays reports whether a number is part of the shape because of its place: in a clause that
// keeps its literals, where it may be the length or precision of a type or function, and where
// not every engine takes it for a token by itself.
func (c *shaper) stays(t Token) bool {
	if c.kept&1 != 0 || t.End < len(c.SQL) && IsWordPart(c.SQL[t.End]) || c.last.End == t.Start && c.last.Kind != Operator {
		return true
	}
	if c.last.Kind == Operator {
		switch c.SQL[c.last.Start:c.last.End] {
		case "(":
			return c.before.Kind == Word && !beforeList[strings.ToUpper(c.SQL[c.before.Start:c.before.End])]
		case ",":
			return c.before.Kind == Number && c.keptNumber
		}
	}
	return false
}

// beforeList are the words before a parenthesis that opens a list or an expression.
var beforeList = map[string]bool{
	"IN": true, "VALUES": true, "VALUE": true, "AND": true, "OR": true, "NOT": true, "WHERE": true, "ON": true, "ANY": true, "ALL": true,
	"WHEN": true, "THEN": true, "ELSE": true, "BETWEEN": true, "HAVING": true, "COALESCE": true, "GREATEST": true, "LEAST": true,
}

// numberKind returns the kind of field that a number is, 0 for a form that is part of the shape.
func numberKind(text string) FieldKind {
	if text[0] < '1' || text[0] > '9' {
		return 0
	}
	point := -1
	for i := range len(text) {
		switch {
		case text[i] == '.' && point < 0:
			point = i
		case !IsDigit(text[i]):
			return 0
		}
	}
	switch n := len(text); {
	case point >= 0:
		if decimals := n - point - 1; point <= 4 && decimals > 0 && decimals <= maxPoint {
			return PointField + FieldKind(decimals)
		}
		return 0
	case n <= 4:
		return SmallField
	case n <= 9:
		return MiddleField
	case n <= 18:
		return LargeField
	}
	return 0
}

// varies reports whether a string is a token by itself to every engine and parser, without escapes,
// and names nothing.
func (c *shaper) varies(t Token, text string) bool {
	if text[0] != '\'' || strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return false
	}
	if c.last.Kind == Word {
		word := c.SQL[c.last.Start:c.last.End]
		if c.last.End == t.Start || word[0] == '_' || beforeName[strings.ToUpper(word)] {
			return false
		}
	}
	return (c.last.Kind == Word || c.last.Kind == Operator) && !c.names(text)
}

// stringKind returns the kind of field that a string is.
func stringKind(text string) FieldKind {
	if len(text) > MaxShort+2 {
		return StringField
	}
	for i := 1; i < len(text)-1; i++ {
		if text[i] < ' ' || text[i] > '~' || text[i] == '\'' {
			return StringField
		}
	}
	return ShortField
}

// beforeName are the words before a string that is not a value.
var beforeName = map[string]bool{
	"AS": true, "ESCAPE": true, "UESCAPE": true, "COLLATE": true, "SET": true, "CHARSET": true, "SEPARATOR": true,
}

// CollapseGaps returns a statement with a single space in place of white space, and of comments that
// mean nothing.
func CollapseGaps(rules *Rules, sql string) string {
	sc := Scanner{rules: rules, sql: sql}
	var b strings.Builder
	for last := (Token{}); ; {
		t := sc.Next()
		switch gap := sql[last.End:t.Start]; {
		case gap == "":
		case last.Kind == String && t.Kind == String || !meaningless(gap):
			b.WriteString(gap)
		case last.End > 0 && t.Kind != EOF:
			b.WriteByte(' ')
		}
		if t.Kind == EOF {
			return b.String()
		}
		b.WriteString(sql[t.Start:t.End])
		last = t
	}
}

// ofRows reports whether statements that begin with a word read or change rows, and do nothing
// else.
func ofRows(word string) bool {
	is := func(w string) bool { return strings.EqualFold(word, w) }
	switch len(word) {
	case 4:
		return is("WITH")
	case 6:
		return is("SELECT") || is("UPDATE") || is("INSERT") || is("DELETE")
	case 7:
		return is("REPLACE")
	}
	return false
}

// clauseOf reports whether a word begins a clause. keep is 1 if literals of that clause are part
// of the shape: positions, limits, and literals in result columns, which get their names and
// types from them. items is 1 if the clause is a list of result columns.
func clauseOf(word string) (keep, items uint64, clause bool) {
	is := func(w string) bool { return strings.EqualFold(word, w) }
	switch len(word) {
	case 2:
		return 1, 0, is("BY")
	case 3:
		return 0, 0, is("SET")
	case 4:
		return 0, 0, is("FROM")
	case 5:
		if is("LIMIT") || is("FETCH") {
			return 1, 0, true
		}
		return 0, 0, is("WHERE")
	case 6:
		switch {
		case is("SELECT"):
			return 1, 1, true
		case is("OFFSET"):
			return 1, 0, true
		}
		return 0, 0, is("VALUES") || is("HAVING") || is("UPDATE")
	case 9:
		return 1, 1, is("RETURNING")
	}
	return 0, 0, false
}

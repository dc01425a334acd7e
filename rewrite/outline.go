package rewrite

import (
	"strings"
	"unicode/utf8"
)

// This file cuts a statement into what it has in common with others that differ from it in
// literals, comments and white space alone, and these. docs/design/shapes.md says how plans
// are shared by that.

// An Outline is a statement divided into its Key, which all statements of one shape have
// in common, and holes for the rest. Scan overwrites it.
type Outline struct {
	Key   []byte
	sql   string
	holes []hole
}

// hole is a literal, or what stands between two tokens. An outline has maxOutline bytes at most.
type hole struct {
	start, end uint16
	kind       holeKind
}

// holeKind says what may stand in a hole. Parsers and engines read all of a kind alike;
// numbers of one kind have about as many digits, so that one and the same limit is mostly
// above or below all of them.
type holeKind byte

const (
	gapHole    holeKind = 1 + iota // white space and comments, never nothing
	smallHole                      // an integer of 1 to 4 digits, not 0
	middleHole                     // of 5 to 9 digits
	largeHole                      // of 10 to 18 digits
	stringHole                     // '...' without an escape
	shortHole                      // one of up to maxShort characters, all of them printable ASCII
	pointHole                      // + n: 1 to 4 digits, not 0, a point and n digits
)

// What is worth a plan that is shared.
const (
	maxOutline = 4 << 10 // bytes
	maxHoles   = 192
	maxPoint   = 8  // digits behind a point
	maxShort   = 30 // characters
	maxDepth   = 60 // of parentheses
)

// Scan cuts a statement up. It reports false for one that shares no plan: several
// statements, one that does not read or change rows, one that the scanner does not quite
// understand, and one with a comment that means something to slotsql or the engine. names
// reports whether a string may name a table that plans depend on.
func (o *Outline) Scan(d Dialect, sql string, names func(string) bool) bool {
	lx := d.Lexis()
	*o = Outline{o.Key[:0], sql, o.holes[:0]}
	if len(sql) > maxOutline || lx.Foreign || lx.Wide != nil {
		return false
	}
	sc := Scanner{lx: lx, sql: sql}
	c := outliner{Outline: o, names: names, byText: d.Traits().ItemNames != ItemsByRule}
	for {
		t := sc.Next()
		switch {
		case t.Kind == Bad || sc.Exec || !c.gap(t):
			return false
		case t.Kind == EOF:
			return c.last.End > 0 && len(o.holes) <= maxHoles
		case c.ended || !c.token(t):
			return false
		}
		c.before, c.last = c.last, t
	}
}

// outliner is the work on one Outline.
type outliner struct {
	*Outline
	names        func(string) bool
	before, last Token
	ended        bool   // by a semicolon
	depth        int    // of parentheses
	kept         uint64 // a bit for each depth, the current one last: literals there stay as they are
	items        uint64 // likewise: result columns are named there
	byText       bool   // result columns are named by their expression, as it is written
	inserts      bool   // the first word is INSERT or REPLACE
	keptNumber   bool   // last is a number that stays as it is
}

// gap adds what stands before a token.
func (c *outliner) gap(next Token) bool {
	text := c.sql[c.last.End:next.Start]
	switch {
	case text == "":
		return true
	case text != " " && !meaningless(text):
		return false
	case c.last.Kind == StringTok && next.Kind == StringTok, c.last.Kind == Operator && c.sql[c.last.End-1] == '/',
		c.byText && c.items&1 != 0 && next.Kind != EOF && !c.is(c.last, "SELECT"):
		// A string that goes on after a line break; what a comment would make another
		// token; a part of a name.
		c.Key = append(append(append(c.Key, asWritten), text...), asWritten)
		return true
	}
	c.hole(Span{c.last.End, next.Start}, gapHole)
	return true
}

// asWritten stands before and behind a gap that stays as it is.
const asWritten = 0x10

func (c *outliner) is(t Token, word string) bool { return equalFold(c.sql[t.Start:t.End], word) }

// meaningless reports whether a gap means nothing to slotsql and the engine. A vertical tab is no
// white space to SQLite, nor to PostgreSQL before version 16.
func meaningless(gap string) bool {
	for i := range len(gap) {
		if gap[i] < ' ' && !isSpace(gap[i]) || gap[i] == '\v' ||
			gap[i] == '/' && i+2 < len(gap) && gap[i+1] == '*' && strings.IndexByte("+!M", gap[i+2]) >= 0 {
			return false
		}
	}
	return !containsFold(gap, "slotsql") && !containsFold(gap, "set_config") && !containsFold(gap, "search_path")
}

func (c *outliner) hole(sp Span, k holeKind) {
	c.holes = append(c.holes, hole{uint16(sp.Start), uint16(sp.End), k})
	c.Key = append(c.Key, byte(k))
}

// token adds a token.
func (c *outliner) token(t Token) bool {
	text := c.sql[t.Start:t.End]
	if c.last.End == 0 && (t.Kind != Word || !ofRows(text)) {
		return false
	}
	var k holeKind
	switch t.Kind {
	case Word:
		c.word(text)
	case Operator:
		if !c.operator(text) {
			return false
		}
	case NumberTok:
		if strings.HasSuffix(text, ".") {
			return false // MySQL's parser reads `5. ORDER` otherwise than the same with a comment between
		}
		if !c.stays(t) {
			k = numberKind(text)
		}
		c.keptNumber = k == 0
	case StringTok:
		if c.kept&1 == 0 && c.varies(t, text) {
			k = stringKind(text)
		}
		fallthrough
	default:
		if k == 0 && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return false // it might look like a hole
		}
	}
	if k != 0 {
		c.hole(t.Span, k)
	} else {
		c.Key = append(c.Key, text...)
	}
	return true
}

// word notes the clause that a word begins.
func (c *outliner) word(text string) {
	if c.last.End == 0 {
		c.inserts = equalFold(text, "INSERT") || equalFold(text, "REPLACE")
	}
	keep, items, clause := clauseOf(text)
	if !clause {
		return
	}
	if len(text) == len("VALUES") && !c.inserts && equalFold(text, "VALUES") {
		keep = 1 // columns of a table
	}
	c.kept, c.items = c.kept&^1|keep, c.items&^1|items
}

func (c *outliner) operator(text string) bool {
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

// stays reports whether a number is part of the shape by its place: in a clause that keeps,
// as the length or the precision of a type or function (as parsers may judge), and where
// it is no token by itself to every engine.
func (c *outliner) stays(t Token) bool {
	if c.kept&1 != 0 || t.End < len(c.sql) && isWordPart(c.sql[t.End]) || c.last.End == t.Start && c.last.Kind != Operator {
		return true
	}
	if c.last.Kind == Operator {
		switch c.sql[c.last.Start:c.last.End] {
		case "(":
			return c.before.Kind == Word && !beforeList[strings.ToUpper(c.sql[c.before.Start:c.before.End])]
		case ",":
			return c.before.Kind == NumberTok && c.keptNumber
		}
	}
	return false
}

// beforeList holds the words before a parenthesis that opens a list or an expression.
var beforeList = map[string]bool{
	"IN": true, "VALUES": true, "VALUE": true, "AND": true, "OR": true, "NOT": true, "WHERE": true, "ON": true, "ANY": true, "ALL": true,
	"WHEN": true, "THEN": true, "ELSE": true, "BETWEEN": true, "HAVING": true, "COALESCE": true, "GREATEST": true, "LEAST": true,
}

// numberKind returns the kind of hole that a number is, 0 for a form that stays as it is.
func numberKind(text string) holeKind {
	if text[0] < '1' || text[0] > '9' {
		return 0
	}
	point := -1
	for i := range len(text) {
		switch {
		case text[i] == '.' && point < 0:
			point = i
		case !isDigit(text[i]):
			return 0
		}
	}
	switch n := len(text); {
	case point >= 0:
		if behind := n - point - 1; point <= 4 && behind > 0 && behind <= maxPoint {
			return pointHole + holeKind(behind)
		}
		return 0
	case n <= 4:
		return smallHole
	case n <= 9:
		return middleHole
	case n <= 18:
		return largeHole
	}
	return 0
}

// varies reports whether a string is one by itself to every engine and parser, is read as
// it is written, and names nothing.
func (c *outliner) varies(t Token, text string) bool {
	if text[0] != '\'' || strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return false
	}
	if c.last.Kind == Word {
		word := c.sql[c.last.Start:c.last.End]
		if c.last.End == t.Start || word[0] == '_' || beforeName[strings.ToUpper(word)] {
			return false
		}
	}
	return (c.last.Kind == Word || c.last.Kind == Operator) && !c.names(text)
}

// stringKind returns the kind of hole that a string is.
func stringKind(text string) holeKind {
	if len(text) > maxShort+2 {
		return stringHole
	}
	for i := 1; i < len(text)-1; i++ {
		if text[i] < ' ' || text[i] > '~' || text[i] == '\'' {
			return stringHole
		}
	}
	return shortHole
}

// beforeName holds the words before a string that is no value.
var beforeName = map[string]bool{
	"AS": true, "ESCAPE": true, "UESCAPE": true, "COLLATE": true, "SET": true, "CHARSET": true, "SEPARATOR": true,
}

// withoutGaps returns a statement with a space in the place of white space and comments that
// mean nothing.
func withoutGaps(lx *Lexis, sql string) string {
	sc := Scanner{lx: lx, sql: sql}
	var b strings.Builder
	for last := (Token{}); ; {
		t := sc.Next()
		switch gap := sql[last.End:t.Start]; {
		case gap == "":
		case last.Kind == StringTok && t.Kind == StringTok || !meaningless(gap):
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

// ofRows reports whether statements that begin with a word read or change rows, and do
// nothing else.
func ofRows(word string) bool {
	switch len(word) {
	case 4:
		return equalFold(word, "WITH")
	case 6:
		return equalFold(word, "SELECT") || equalFold(word, "UPDATE") || equalFold(word, "INSERT") || equalFold(word, "DELETE")
	case 7:
		return equalFold(word, "REPLACE")
	}
	return false
}

// clauseOf reports whether a word begins a clause. Keep is 1 where literals of that clause
// are part of the shape: they are positions, limits, or part of result columns, whose
// names and types come from them. Items is 1 where result columns are named.
func clauseOf(word string) (keep, items uint64, clause bool) {
	is := func(w string) bool { return equalFold(word, w) }
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

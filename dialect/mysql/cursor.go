package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// The translator walks the parser's tree and the statement's tokens side by side:
// the tree says what must come next, the tokens say where it is, and every
// token must be accounted for. So spans do not depend on the parser's offsets,
// and a tree that does not match the statement (a construct that is not carried, a
// normalisation the parser made) is noticed and makes the statement Opaque.
type translator struct {
	sql  string
	toks []lex.Token
	pos  int
	// words are those of the statement by the names that stand in for them in the tree.
	words map[string]string
	// opaque is the first reason why the tree is not faithful; once set the
	// walk goes on without consequence.
	opaque string
}

func (t *translator) fail(reason string) {
	if t.opaque == "" {
		t.opaque = reason
	}
}

// mismatch fails because of the token at hand.
func (t *translator) mismatch(want string) {
	if t.opaque == "" {
		got := t.peek()
		if len(got) > 20 {
			got = got[:20]
		}
		t.fail("cannot follow the statement at " + quoteWord(got) + ", expected " + want)
	}
}

func quoteWord(s string) string {
	if s == "" {
		return "its end"
	}
	return `"` + s + `"`
}

func (t *translator) failed() bool { return t.opaque != "" }

// peek returns the text of the token at hand, "" at the end.
func (t *translator) peek() string { return t.peekAt(0) }

func (t *translator) peekAt(n int) string {
	if t.pos+n >= len(t.toks) {
		return ""
	}
	tok := t.toks[t.pos+n]
	return t.sql[tok.Start:tok.End]
}

func (t *translator) kind() lex.Kind { return t.kindAt(0) }

func (t *translator) kindAt(n int) lex.Kind {
	if t.pos+n >= len(t.toks) {
		return lex.EOF
	}
	return t.toks[t.pos+n].Kind
}

// start is where the token at hand begins; end is where the last one ended.
func (t *translator) start() int {
	if t.pos < len(t.toks) {
		return t.toks[t.pos].Start
	}
	return len(t.sql)
}

func (t *translator) end() int {
	if t.pos == 0 {
		return 0
	}
	return t.toks[t.pos-1].End
}

func (t *translator) span(start int) ast.Span {
	return ast.Span{Start: start, End: max(start, t.end())}
}

// isWord reports whether the token at hand is that keyword; words are upper case.
func (t *translator) isWord(words ...string) bool { return t.isWordAt(0, words...) }

func (t *translator) isWordAt(n int, words ...string) bool {
	if t.kindAt(n) != lex.Word {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(t.peekAt(n), w) {
			return true
		}
	}
	return false
}

func (t *translator) isOp(op string) bool { return t.isOpAt(0, op) }

func (t *translator) isOpAt(n int, op string) bool {
	return t.kindAt(n) == lex.Operator && t.peekAt(n) == op
}

func (t *translator) next() {
	if t.pos < len(t.toks) {
		t.pos++
	}
}

// accept passes the keyword when it is at hand.
func (t *translator) accept(words ...string) bool {
	if t.isWord(words...) {
		t.next()
		return true
	}
	return false
}

func (t *translator) acceptOp(op string) bool {
	if t.isOp(op) {
		t.next()
		return true
	}
	return false
}

// want passes each of the keywords in turn.
func (t *translator) want(words ...string) {
	for _, w := range words {
		if !t.accept(w) {
			t.mismatch(w)
		}
	}
}

func (t *translator) wantOp(op string) {
	if !t.acceptOp(op) {
		t.mismatch(op)
	}
}

// ident passes an identifier and returns it.
func (t *translator) ident(want string) ast.Ident {
	want = t.own(want)
	text := t.peek()
	switch t.kind() {
	case lex.Word:
		if text == want {
			t.next()
			return ast.Ident{Name: want}
		}
	case lex.QuotedIdent:
		if unquote(text) == want {
			t.next()
			return ast.Ident{Name: want, Quoted: true}
		}
	}
	t.mismatch(want)
	return ast.Ident{Name: want}
}

func unquote(text string) string {
	if len(text) < 2 {
		return text
	}
	q := text[:1] // a backtick, or what ANSI_QUOTES or MSSQL make a quote of names
	if q == "[" {
		q = "]"
	}
	return strings.ReplaceAll(text[1:len(text)-1], q+q, q)
}

// dotted passes a.b.c, leaving out empty leading parts.
func (t *translator) dotted(parts ...string) []ast.Ident {
	var out []ast.Ident
	for _, p := range parts {
		if p == "" && len(out) == 0 {
			continue
		}
		if len(out) > 0 {
			t.wantOp(".")
		}
		out = append(out, t.ident(p))
	}
	return out
}

// close returns the index of the parenthesis that closes the one at hand, or
// -1.
func (t *translator) close() int {
	if !t.isOp("(") {
		return -1
	}
	depth := 0
	for i := t.pos; i < len(t.toks); i++ {
		tok := t.toks[i]
		if tok.Kind != lex.Operator {
			continue
		}
		switch t.sql[tok.Start] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// skipPlain passes tokens up to the index end that cannot hold a reference
// or a placeholder: types, units, character sets, names of frames.
func (t *translator) skipPlain(end int) {
	for t.pos < end {
		switch t.kind() {
		case lex.Param, lex.QuotedIdent, lex.Variable:
			t.mismatch("a keyword")
		}
		t.next()
	}
}

// skipParens passes one balanced pair of parentheses.
func (t *translator) skipParens() {
	end := t.close()
	if end < 0 {
		t.mismatch("(")
		return
	}
	t.pos = end + 1
}

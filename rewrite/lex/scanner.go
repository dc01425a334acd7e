package lex

import (
	"strings"
	"unicode/utf8"
)

// Span is a byte range [Start, End) of a statement.
type Span struct{ Start, End int }

// Kind is the kind of a Token.
type Kind uint8

// The kinds of token. Comments and white space are not tokens.
const (
	EOF  Kind = iota
	Word      // an unquoted identifier or a keyword
	QuotedIdent
	String
	Number
	Param
	Variable // @name, @@name
	Operator // operators and punctuation, one token per ( ) , ; . and per run of operator characters
	Bad      // an unterminated quote or comment, up to the end of the statement, or a byte that begins no token
)

// Token is one lexical element of a statement.
type Token struct {
	Kind Kind
	Span
}

// Scanner divides a statement into tokens, in one pass. It never fails: what it does not
// understand is a Bad token.
type Scanner struct {
	rules *Rules
	sql   string
	pos   int

	// Exec reports whether there has been an executable comment.
	Exec bool
}

// NewScanner starts at offset 0 of sql.
func NewScanner(rules *Rules, sql string) *Scanner { return &Scanner{rules: rules, sql: sql} }

// Tokens returns all tokens of sql, without the final EOF.
func Tokens(rules *Rules, sql string) []Token {
	tokens, _ := Scan(rules, sql)
	return tokens
}

// Scan returns all tokens of sql, without the final EOF, and whether there are executable comments.
func Scan(rules *Rules, sql string) (tokens []Token, exec bool) {
	s := NewScanner(rules, sql)
	tokens = make([]Token, 0, len(sql)/5+4)
	for {
		t := s.Next()
		if t.Kind == EOF {
			return tokens, s.Exec
		}
		tokens = append(tokens, t)
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// IsDigit reports whether a byte is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// IsWordPart reports whether a byte may be in a word. Bytes beyond ASCII may.
func IsWordPart(c byte) bool { return isWordStart(c) || IsDigit(c) || c == '$' }

const operatorBytes = "+-*/<>=~!@#%^&|`?:\\"

// Next returns the next token; its Kind is EOF at the end.
func (s *Scanner) Next() Token {
	if bad, ok := s.skip(); !ok {
		return bad
	}
	start := s.pos
	if start >= len(s.sql) {
		return Token{EOF, Span{start, start}}
	}
	c := s.sql[start]
	switch {
	case c == '\'':
		return s.quoted(start, start, '\'', String, s.rules.Backslash)
	case c == '"':
		if s.rules.DoubleString {
			return s.quoted(start, start, '"', String, s.rules.Backslash)
		}
		return s.quoted(start, start, '"', QuotedIdent, false)
	case c == '`' && s.rules.Backtick:
		return s.quoted(start, start, '`', QuotedIdent, false)
	case c == '[' && s.rules.Bracket:
		if i := strings.IndexByte(s.sql[start:], ']'); i >= 0 {
			return s.token(QuotedIdent, start, start+i+1)
		}
		return s.token(Bad, start, len(s.sql))
	case c >= utf8.RuneSelf && s.rules.Foreign:
		return s.token(Bad, start, len(s.sql))
	case isWordStart(c):
		return s.word(start)
	case IsDigit(c) || c == '.' && s.at(start+1, IsDigit):
		return s.number(start)
	case c == '?' && s.rules.QuestionParam:
		end := start + 1
		for s.rules.QuestionNumber && s.at(end, IsDigit) {
			end++
		}
		return s.token(Param, start, end)
	case c == '$':
		return s.dollar(start)
	case c == '@' && s.rules.AtVariable:
		end := start + 1
		if s.at(end, func(b byte) bool { return b == '@' }) {
			end++
		}
		if end < len(s.sql) && (s.sql[end] == '`' || s.sql[end] == '\'' || s.sql[end] == '"') {
			return s.quoted(start, end, s.sql[end], Variable, false)
		}
		for s.at(end, func(b byte) bool { return b == '.' || IsWordPart(b) && (b < utf8.RuneSelf || !s.rules.Foreign) }) {
			end++
		}
		return s.token(Variable, start, end)
	case s.rules.NamedParam && strings.IndexByte(nameMarks, c) >= 0:
		return s.name(start, start+1)
	case strings.IndexByte("(),;.[]{}", c) >= 0:
		return s.token(Operator, start, start+1)
	case strings.IndexByte(operatorBytes, c) >= 0:
		return s.operator(start)
	}
	return s.token(Bad, start, start+1)
}

func (s *Scanner) token(k Kind, start, end int) Token {
	s.pos = end
	return Token{k, Span{start, end}}
}

func (s *Scanner) at(i int, f func(byte) bool) bool { return i < len(s.sql) && f(s.sql[i]) }

func (s *Scanner) wordEnd(i int) int {
	for i < len(s.sql) && IsWordPart(s.sql[i]) && (s.sql[i] < utf8.RuneSelf || !s.rules.Foreign) {
		i++
	}
	return i
}

// skip skips white space and comments. It returns false with a Bad token for
// a comment that does not end.
func (s *Scanner) skip() (Token, bool) {
	for s.pos < len(s.sql) {
		c := s.sql[s.pos]
		rest := s.sql[s.pos:]
		switch {
		case isSpace(c):
			s.pos++
		case s.rules.MarkIsSpace && strings.HasPrefix(rest, "\ufeff"):
			s.pos += len("\ufeff")
		case c == '#' && s.rules.HashComment:
			s.line()
		case strings.HasPrefix(rest, "--") && (!s.rules.DashSpace || len(rest) == 2 || isSpace(rest[2])):
			s.line()
		case strings.HasPrefix(rest, "/*"):
			if s.rules.ExecComment && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
				s.Exec = true
			}
			end := s.comment()
			if end < 0 {
				return s.token(Bad, s.pos, len(s.sql)), false
			}
			s.pos = end
		default:
			return Token{}, true
		}
	}
	return Token{}, true
}

func (s *Scanner) line() {
	ends := "\n"
	if s.rules.ReturnEndsLine {
		ends = "\r\n"
	}
	if i := strings.IndexAny(s.sql[s.pos:], ends); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.sql)
}

// comment returns the end of the block comment at s.pos, or -1.
func (s *Scanner) comment() int {
	if !s.rules.NestedComment {
		i := strings.Index(s.sql[s.pos+2:], "*/")
		if i < 0 {
			return -1
		}
		return s.pos + 2 + i + 2
	}
	depth, i := 1, s.pos+2
	for i+1 < len(s.sql) {
		switch {
		case s.sql[i] == '*' && s.sql[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		case s.sql[i] == '/' && s.sql[i+1] == '*':
			depth++
			i += 2
		default:
			i++
		}
	}
	return -1
}

// quoted scans a quoted run whose opening quote q is at open; the quote
// doubled stands for itself.
func (s *Scanner) quoted(start, open int, q byte, k Kind, backslash bool) Token {
	for i := open + 1; i < len(s.sql); i++ {
		switch {
		case s.sql[i] >= utf8.RuneSelf && s.rules.Wide != nil:
			i += s.rules.Wide.Len(s.sql, i) - 1
		case s.sql[i] == '\\' && backslash:
			i++
		case s.sql[i] == q:
			if i+1 < len(s.sql) && s.sql[i+1] == q {
				i++
				continue
			}
			return s.token(k, start, i+1)
		}
	}
	return s.token(Bad, start, len(s.sql))
}

func (s *Scanner) word(start int) Token {
	end := s.wordEnd(start)
	if end < len(s.sql) && (s.sql[end] == '\'' || s.sql[end] == '&') {
		if t, ok := s.prefixed(start, end); ok {
			return t
		}
	}
	return s.token(Word, start, end)
}

// prefixed scans strings such as E'..', X'..', N'..', U&'..', U&"..", _utf8'..'.
func (s *Scanner) prefixed(start, end int) (Token, bool) {
	prefix := s.sql[start:end]
	if s.sql[end] == '&' {
		if s.rules.EString && (prefix == "u" || prefix == "U") && end+1 < len(s.sql) {
			switch s.sql[end+1] {
			case '\'':
				return s.quoted(start, end+1, '\'', String, false), true
			case '"':
				return s.quoted(start, end+1, '"', QuotedIdent, false), true
			}
		}
		return Token{}, false
	}
	if len(prefix) == 1 && strings.ContainsAny(prefix, "xXbBnN") {
		return s.quoted(start, end, '\'', String, s.rules.Backslash), true
	}
	if len(prefix) == 1 && s.rules.EString && (prefix == "e" || prefix == "E") {
		return s.quoted(start, end, '\'', String, true), true
	}
	return Token{}, false
}

func (s *Scanner) number(start int) Token {
	i := start
	if s.sql[i] == '0' && i+1 < len(s.sql) && strings.IndexByte("xXbBoO", s.sql[i+1]) >= 0 {
		i += 2
		for s.at(i, IsWordPart) {
			i++
		}
		return s.token(Number, start, i)
	}
	for i < len(s.sql) {
		c := s.sql[i]
		switch {
		case IsDigit(c) || c == '.' || c == '_':
			i++
		case (c == 'e' || c == 'E') && i+1 < len(s.sql) && IsDigit(s.sql[i+1]):
			i += 2
		case (c == 'e' || c == 'E') && i+2 < len(s.sql) && (s.sql[i+1] == '+' || s.sql[i+1] == '-') && IsDigit(s.sql[i+2]):
			i += 3
		default:
			return s.token(Number, start, i)
		}
	}
	return s.token(Number, start, i)
}

func (s *Scanner) dollar(start int) Token {
	end := start + 1
	if s.rules.DollarParam && s.at(end, IsDigit) {
		for s.at(end, IsDigit) {
			end++
		}
		return s.token(Param, start, end)
	}
	if s.rules.DollarString {
		for s.at(end, func(b byte) bool { return IsWordPart(b) && b != '$' }) {
			end++
		}
		if s.at(end, func(b byte) bool { return b == '$' }) {
			tag := s.sql[start : end+1]
			if i := strings.Index(s.sql[end+1:], tag); i >= 0 {
				return s.token(String, start, end+1+i+len(tag))
			}
			return s.token(Bad, start, len(s.sql))
		}
		return s.token(Bad, start, start+1)
	}
	if s.rules.NamedParam {
		return s.name(start, end)
	}
	if s.at(end, IsWordPart) {
		return s.token(Word, start, s.wordEnd(end))
	}
	return s.token(Bad, start, start+1)
}

// operator scans a run of operator characters, stopping before a comment.
func (s *Scanner) operator(start int) Token {
	i := start + 1
	for i < len(s.sql) && strings.IndexByte(operatorBytes, s.sql[i]) >= 0 {
		rest := s.sql[i:]
		if strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") ||
			rest[0] == '#' && s.rules.HashComment || rest[0] == '`' && s.rules.Backtick ||
			rest[0] == '?' && s.rules.QuestionParam || rest[0] == '@' && s.rules.AtVariable ||
			s.rules.NamedParam && strings.IndexByte(nameMarks, rest[0]) >= 0 {
			break
		}
		i++
	}
	return s.token(Operator, start, i)
}

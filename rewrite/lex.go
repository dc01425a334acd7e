package rewrite

import (
	"strings"
	"unicode/utf8"
)

// Lexis is the lexical part of a dialect: what quotes, comments and
// placeholders look like. The zero value is standard SQL.
type Lexis struct {
	Backtick       bool // `name` is an identifier
	Bracket        bool // [name] is an identifier
	DoubleString   bool // "text" is a string (MySQL without ANSI_QUOTES)
	Backslash      bool // \ escapes inside '...' (and inside "..." with DoubleString)
	HashComment    bool // # starts a comment
	DashSpace      bool // -- starts a comment only before white space or the end
	NestedComment  bool // /* /* */ */ nests
	ReturnEndsLine bool // a carriage return ends a -- comment, too
	MarkIsSpace    bool // a byte order mark is white space
	ExecComment    bool // /*! ... */ and /*M! ... */ hold code
	EString        bool // E'...', B'', X'', N'', U&'...', U&"..."
	DollarString   bool // $tag$ ... $tag$
	DollarParam    bool // $1
	QuestionParam  bool // ?
	QuestionNumber bool // ?7
	NamedParam     bool // :name, @name, #name, $name
	AtVariable     bool // @name and @@name are variables
	SelectInto     bool // SELECT ... INTO name makes a table

	// Foreign reports whether statements come in another character set than UTF-8:
	// bytes beyond ASCII are only understood inside quotes and comments.
	Foreign bool
	// Wide is set for a character set in which the bytes of a character may look
	// like ASCII.
	Wide Wide
}

// Wide tells the characters of a character set apart. Two that are equal do so
// alike.
type Wide interface {
	// Len returns how many bytes the character at a place of a statement has.
	Len(sql string, i int) int
}

// TokenKind is the kind of a Token.
type TokenKind uint8

// The kinds of token. Comments and white space are not tokens.
const (
	EOF  TokenKind = iota
	Word           // an unquoted identifier or a keyword
	QuotedIdent
	StringTok
	NumberTok
	ParamTok
	Variable // @name, @@name
	Operator // operators and punctuation, one token per ( ) , ; . and per run of operator characters
	Bad      // an unterminated quote or comment, or a byte that fits nothing; runs to the end of the statement for the former
)

// Token is one lexical element of a statement.
type Token struct {
	Kind TokenKind
	Span
}

// Scanner cuts a statement into tokens. It never fails: what it does not
// understand comes as Bad. It is bounded by one pass over the statement.
type Scanner struct {
	lx  *Lexis
	sql string
	pos int

	// Exec reports whether an executable comment has been met.
	Exec bool
}

// NewScanner starts at offset 0 of sql.
func NewScanner(lx *Lexis, sql string) *Scanner { return &Scanner{lx: lx, sql: sql} }

// Tokens returns all tokens of sql, without the final EOF.
func Tokens(lx *Lexis, sql string) []Token {
	s := NewScanner(lx, sql)
	out := make([]Token, 0, len(sql)/5+4)
	for {
		t := s.Next()
		if t.Kind == EOF {
			return out
		}
		out = append(out, t)
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}
func isWordPart(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }

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
		return s.quoted(start, start, '\'', StringTok, s.lx.Backslash)
	case c == '"':
		if s.lx.DoubleString {
			return s.quoted(start, start, '"', StringTok, s.lx.Backslash)
		}
		return s.quoted(start, start, '"', QuotedIdent, false)
	case c == '`' && s.lx.Backtick:
		return s.quoted(start, start, '`', QuotedIdent, false)
	case c == '[' && s.lx.Bracket:
		if i := strings.IndexByte(s.sql[start:], ']'); i >= 0 {
			return s.token(QuotedIdent, start, start+i+1)
		}
		return s.token(Bad, start, len(s.sql))
	case c >= utf8.RuneSelf && s.lx.Foreign:
		return s.token(Bad, start, len(s.sql))
	case isWordStart(c):
		return s.word(start)
	case isDigit(c) || c == '.' && s.at(start+1, isDigit):
		return s.number(start)
	case c == '?' && s.lx.QuestionParam:
		end := start + 1
		for s.lx.QuestionNumber && s.at(end, isDigit) {
			end++
		}
		return s.token(ParamTok, start, end)
	case c == '$':
		return s.dollar(start)
	case c == '@' && s.lx.AtVariable:
		end := start + 1
		if s.at(end, func(b byte) bool { return b == '@' }) {
			end++
		}
		if end < len(s.sql) && (s.sql[end] == '`' || s.sql[end] == '\'' || s.sql[end] == '"') {
			return s.quoted(start, end, s.sql[end], Variable, false)
		}
		for s.at(end, func(b byte) bool { return b == '.' || isWordPart(b) && (b < utf8.RuneSelf || !s.lx.Foreign) }) {
			end++
		}
		return s.token(Variable, start, end)
	case s.lx.NamedParam && strings.IndexByte(nameMarks, c) >= 0:
		return s.name(start, start+1)
	case strings.IndexByte("(),;.[]{}", c) >= 0:
		return s.token(Operator, start, start+1)
	case strings.IndexByte(operatorBytes, c) >= 0:
		return s.operator(start)
	}
	return s.token(Bad, start, start+1)
}

func (s *Scanner) token(k TokenKind, start, end int) Token {
	s.pos = end
	return Token{k, Span{start, end}}
}

func (s *Scanner) at(i int, f func(byte) bool) bool { return i < len(s.sql) && f(s.sql[i]) }

func (s *Scanner) wordEnd(i int) int {
	for i < len(s.sql) && isWordPart(s.sql[i]) && (s.sql[i] < utf8.RuneSelf || !s.lx.Foreign) {
		i++
	}
	return i
}

// skip passes white space and comments. It returns false with a Bad token for
// a comment that does not end.
func (s *Scanner) skip() (Token, bool) {
	for s.pos < len(s.sql) {
		c := s.sql[s.pos]
		rest := s.sql[s.pos:]
		switch {
		case isSpace(c):
			s.pos++
		case s.lx.MarkIsSpace && strings.HasPrefix(rest, "\ufeff"):
			s.pos += len("\ufeff")
		case c == '#' && s.lx.HashComment:
			s.line()
		case strings.HasPrefix(rest, "--") && (!s.lx.DashSpace || len(rest) == 2 || isSpace(rest[2])):
			s.line()
		case strings.HasPrefix(rest, "/*"):
			if s.lx.ExecComment && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
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
	if s.lx.ReturnEndsLine {
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
	if !s.lx.NestedComment {
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
func (s *Scanner) quoted(start, open int, q byte, k TokenKind, backslash bool) Token {
	for i := open + 1; i < len(s.sql); i++ {
		switch {
		case s.sql[i] >= utf8.RuneSelf && s.lx.Wide != nil:
			i += s.lx.Wide.Len(s.sql, i) - 1
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
		if s.lx.EString && (prefix == "u" || prefix == "U") && end+1 < len(s.sql) {
			switch s.sql[end+1] {
			case '\'':
				return s.quoted(start, end+1, '\'', StringTok, false), true
			case '"':
				return s.quoted(start, end+1, '"', QuotedIdent, false), true
			}
		}
		return Token{}, false
	}
	if len(prefix) == 1 && strings.ContainsAny(prefix, "xXbBnN") {
		return s.quoted(start, end, '\'', StringTok, s.lx.Backslash), true
	}
	if len(prefix) == 1 && s.lx.EString && (prefix == "e" || prefix == "E") {
		return s.quoted(start, end, '\'', StringTok, true), true
	}
	return Token{}, false
}

func (s *Scanner) number(start int) Token {
	i := start
	if s.sql[i] == '0' && i+1 < len(s.sql) && strings.IndexByte("xXbBoO", s.sql[i+1]) >= 0 {
		i += 2
		for s.at(i, isWordPart) {
			i++
		}
		return s.token(NumberTok, start, i)
	}
	for i < len(s.sql) {
		c := s.sql[i]
		switch {
		case isDigit(c) || c == '.' || c == '_':
			i++
		case (c == 'e' || c == 'E') && i+1 < len(s.sql) && isDigit(s.sql[i+1]):
			i += 2
		case (c == 'e' || c == 'E') && i+2 < len(s.sql) && (s.sql[i+1] == '+' || s.sql[i+1] == '-') && isDigit(s.sql[i+2]):
			i += 3
		default:
			return s.token(NumberTok, start, i)
		}
	}
	return s.token(NumberTok, start, i)
}

func (s *Scanner) dollar(start int) Token {
	end := start + 1
	if s.lx.DollarParam && s.at(end, isDigit) {
		for s.at(end, isDigit) {
			end++
		}
		return s.token(ParamTok, start, end)
	}
	if s.lx.DollarString {
		for s.at(end, func(b byte) bool { return isWordPart(b) && b != '$' }) {
			end++
		}
		if s.at(end, func(b byte) bool { return b == '$' }) {
			tag := s.sql[start : end+1]
			if i := strings.Index(s.sql[end+1:], tag); i >= 0 {
				return s.token(StringTok, start, end+1+i+len(tag))
			}
			return s.token(Bad, start, len(s.sql))
		}
		return s.token(Bad, start, start+1)
	}
	if s.lx.NamedParam {
		return s.name(start, end)
	}
	if s.at(end, isWordPart) {
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
			rest[0] == '#' && s.lx.HashComment || rest[0] == '`' && s.lx.Backtick ||
			rest[0] == '?' && s.lx.QuestionParam || rest[0] == '@' && s.lx.AtVariable ||
			s.lx.NamedParam && strings.IndexByte(nameMarks, rest[0]) >= 0 {
			break
		}
		i++
	}
	return s.token(Operator, start, i)
}

// Package sqlfile cuts a file of SQL into its statements: a dump, migrations one after
// another, or what an application runs. It finds where each statement begins and ends, and
// with which words it begins; it does not parse them.
package sqlfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// Statement is one statement of a file.
type Statement struct {
	SQL  string
	Line int // of its first word, from 1
	// Words are the words and names it begins with, in upper case and without
	// quotes: at most 16 of them.
	Words []string
}

// Is reports whether the statement begins with these words.
func (s Statement) Is(words ...string) bool {
	return len(s.Words) >= len(words) && strings.Join(s.Words[:len(words)], " ") == strings.Join(words, " ")
}

// Error is about a statement that cannot be read.
type Error struct {
	Line      int
	Statement string // its beginning, on one line
	Err       error
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d: %s: %v", e.Line, e.Statement, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Each calls f for each statement of a file. It does not cut the bodies of triggers and
// routines. It skips lines for the command-line clients and the data of COPY, and follows
// DELIMITER. An error of f comes back as an *Error.
func Each(lexRules *lex.Rules, sql string, f func(Statement) error) error {
	each := func(st Statement) error {
		if err := f(st); err != nil {
			return &Error{st.Line, summary(st.SQL), err}
		}
		return nil
	}
	delimiter, start, line := ";", 0, 1
	for start <= len(sql) {
		end, next, following := len(sql), len(sql)+1, ""
		if m := delimiterLine.FindStringSubmatchIndex(sql[start:]); m != nil {
			end, next, following = start+m[0], start+m[1], sql[start+m[2]:start+m[3]]
		}
		chunk := sql[start:end]
		if delimiter == ";" {
			s := &scanner{lexRules: lexRules, sql: chunk, tokens: lex.Tokens(lexRules, chunk), line: line}
			for st, ok := s.next(); ok; st, ok = s.next() {
				if err := each(st); err != nil {
					return err
				}
			}
		} else {
			at := line
			for _, piece := range strings.Split(chunk, delimiter) {
				s := &scanner{lexRules: lexRules, sql: piece, tokens: lex.Tokens(lexRules, piece), line: at}
				if len(s.tokens) > 0 {
					if err := each(s.make(0, s.tokens[0].Start, len(piece))); err != nil {
						return err
					}
				}
				at += strings.Count(piece, "\n")
			}
		}
		if next > len(sql) {
			return nil
		}
		line += strings.Count(sql[start:next], "\n")
		start, delimiter = next, following
	}
	return nil
}

// delimiterLine is a command of the mysql client.
var delimiterLine = regexp.MustCompile(`(?mi)^[ \t]*DELIMITER[ \t]+(\S+)[ \t]*\r?$`)

// summary is the beginning of a statement on one line.
func summary(sql string) string {
	const most = 60
	short := strings.Join(strings.Fields(sql[:min(len(sql), 4*most)]), " ")
	if r := []rune(short); len(r) > most {
		short = string(r[:most]) + "..."
	}
	return strings.ToValidUTF8(short, "?")
}

type scanner struct {
	lexRules *lex.Rules
	sql      string
	tokens   []lex.Token
	at       int // next token
	line     int // of the offset seen
	seen     int
}

func (s *scanner) lineOf(offset int) int {
	s.line += strings.Count(s.sql[s.seen:offset], "\n")
	s.seen = offset
	return s.line
}

func (s *scanner) endOfLine(offset int) int {
	if i := strings.IndexByte(s.sql[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(s.sql)
}

func (s *scanner) word(i int) string {
	if i >= len(s.tokens) {
		return ""
	}
	t := s.sql[s.tokens[i].Start:s.tokens[i].End]
	switch s.tokens[i].Kind {
	case lex.Word:
		return strings.ToUpper(t)
	case lex.QuotedIdent:
		return strings.ToUpper(t[1 : len(t)-1])
	}
	return ""
}

func (s *scanner) next() (Statement, bool) {
	for s.at < len(s.tokens) {
		start := s.tokens[s.at].Start
		switch s.sql[start] {
		case ';':
			s.at++
		case '\\': // psql
			s.restart(s.endOfLine(start))
		default:
			return s.statement(), true
		}
	}
	return Statement{}, false
}

// statement reads up to a semicolon outside brackets and bodies.
func (s *scanner) statement() Statement {
	first := s.at
	routine := false
	if w := s.word(first); w == "CREATE" || w == "ALTER" {
		for i := first + 1; i < first+16 && !routine; i++ {
			switch s.word(i) {
			case "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE":
				routine = s.tokens[i].Kind == lex.Word
			case "TABLE", "INDEX", "VIEW":
				i = first + 16
			}
		}
	}
	brackets, blocks := 0, 0
	end := len(s.sql)
	for ; s.at < len(s.tokens); s.at++ {
		t := s.tokens[s.at]
		switch s.sql[t.Start] {
		case '(':
			brackets++
		case ')':
			brackets--
		}
		if routine && t.Kind == lex.Word {
			switch s.word(s.at) {
			case "BEGIN", "CASE":
				if s.word(max(0, s.at-1)) != "END" {
					blocks++
				}
			case "END":
				switch s.word(s.at + 1) {
				case "IF", "LOOP", "WHILE", "REPEAT", "FOR":
				default:
					blocks--
				}
			}
		}
		if s.sql[t.Start] == ';' && t.Kind == lex.Operator && brackets <= 0 && blocks <= 0 {
			end = t.Start
			s.at++
			break
		}
	}
	st := s.make(first, s.tokens[first].Start, end)
	if st.Is("COPY") && strings.HasSuffix(strings.ToUpper(strings.TrimSpace(st.SQL)), "STDIN") && end < len(s.sql) {
		data := s.endOfLine(end)
		if i := strings.Index(s.sql[data-1:], "\n\\.\n"); i >= 0 {
			data += i + 3
		} else {
			data = len(s.sql)
		}
		s.restart(data)
	}
	return st
}

// restart scans anew from an offset: what stands before it may hold a quote
// that is none.
func (s *scanner) restart(offset int) {
	s.lineOf(offset)
	s.sql, s.seen, s.at = s.sql[offset:], 0, 0
	s.tokens = lex.Tokens(s.lexRules, s.sql)
}

func (s *scanner) make(first, start, end int) Statement {
	st := Statement{SQL: s.sql[start:end], Line: s.lineOf(start)}
	for i := first; i < len(s.tokens) && i < first+16 && s.tokens[i].Start < end; i++ {
		if w := s.word(i); w != "" {
			st.Words = append(st.Words, w)
		}
	}
	return st
}

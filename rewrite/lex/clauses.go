package lex

import (
	"slices"
	"strings"
)

// Clauses breaks SQL into lines, one for each clause, and those longer than width bytes at white space. It changes white space only.
func Clauses(rules *Rules, sql, indent string, width int) (out []string) {
	for _, c := range clauses(rules, strings.TrimSpace(sql)) {
		line := indent + strings.Repeat("  ", c.depth)
		margin := line + "    "
		for i, w := range c.words {
			switch {
			case i == 0:
			case len(line)+1+len(w) > width:
				out, line = append(out, line), margin
			default:
				line += " "
			}
			line += w
		}
		out = append(out, line)
	}
	return out
}

// clause is a line: what has white space between it, and in how many queries it stands.
type clause struct {
	depth int
	words []string
}

// splitter takes a statement apart.
type splitter struct {
	sql    string
	tokens []Token
	open   []bool // of each open parenthesis: whether it holds a query with lines of its own
}

func clauses(rules *Rules, sql string) []clause {
	s := splitter{sql: sql, tokens: Tokens(rules, sql)}
	out := []clause{{}}
	end := 0
	for i, t := range s.tokens {
		gap := sql[end:t.Start]
		comment := strings.TrimSpace(gap)
		last := &out[len(out)-1]
		if comment != "" {
			last.words = append(last.words, comment)
		}
		within := len(s.open) == 0 || s.open[len(s.open)-1]
		begins := within && (s.beginsClause(i) || s.text(i-1) == "(" && s.depth() > 0) ||
			comment != "" && strings.Contains(strings.TrimLeft(gap, " \t"), "\n") // which may be what ends it
		text := s.text(i)
		if n := len(s.open); text == ")" && n > 0 {
			begins = begins || s.open[n-1]
			s.open = s.open[:n-1]
		}
		switch {
		case begins && len(last.words) > 0:
			out = append(out, clause{s.depth(), []string{text}})
		case gap == "" && len(last.words) > 0:
			last.words[len(last.words)-1] += text
		default:
			last.words = append(last.words, text)
		}
		if text == "(" {
			s.open = append(s.open, within && s.longQuery(i+1))
		}
		end = t.End
	}
	if rest := strings.TrimSpace(sql[end:]); rest != "" {
		out[len(out)-1].words = append(out[len(out)-1].words, rest)
	}
	return out
}

func (s *splitter) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.sql[s.tokens[i].Start:s.tokens[i].End]
}

func (s *splitter) word(i int) string { return strings.ToUpper(s.text(i)) }

func (s *splitter) depth() (n int) {
	for _, query := range s.open {
		if query {
			n++
		}
	}
	return n
}

// notAfter are the words that begin clauses, each with those behind which they do not.
var notAfter = map[string][]string{
	"SELECT": nil, "WHERE": nil, "HAVING": nil, "LIMIT": nil, "RETURNING": nil, "UNION": nil, "INTERSECT": nil, "EXCEPT": nil,
	"INSERT": nil, "DELETE": {"ON", "FOR"}, "WITH": nil, "SET": {"ON", "CHARACTER"}, "FROM": {"DISTINCT", "DELETE"}, "ORDER": nil,
	"GROUP": {"WITHIN"}, "UPDATE": {"FOR", "KEY", "DO", "ON"}, "FOR": nil,
}

// beginsClause reports whether the token is the first one of a clause.
func (s *splitter) beginsClause(i int) bool {
	if s.tokens[i].Kind != Word || s.text(i-1) == "." {
		return false
	}
	switch w := s.word(i); w {
	case "ON":
		return s.word(i+1) == "CONFLICT" || s.word(i+1) == "DUPLICATE"
	case "VALUES":
		return s.text(i-1) == ")" || s.tokens[max(i-1, 0)].Kind != Operator
	default:
		not, begins := notAfter[w]
		return begins && !slices.Contains(not, s.word(i-1))
	}
}

// longQuery reports whether a query begins with a token, behind a parenthesis, and is to have lines of its own.
func (s *splitter) longQuery(first int) bool {
	const long = 60
	switch s.word(first) {
	case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE":
	default:
		return false
	}
	depth := 1
	for i := first; i < len(s.tokens); i++ {
		switch s.text(i) {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return s.tokens[i].Start-s.tokens[first].Start > long
			}
		}
	}
	return false
}

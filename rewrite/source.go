package rewrite

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// source is one statement's SQL with its tokens and placeholders.
type source struct {
	sql    string
	tokens []Token
	params []param
	exec   bool // holds an executable comment
	bad    bool // holds something the scanner does not understand
	count  int  // of arguments
	// large reports whether tokens holds the first ones only, and params nothing;
	// several, that more than one statement is in large SQL.
	large, several bool
}

type param struct {
	Span
	arg Arg
}

// newSource scans one statement. Placeholders are counted as the engine
// counts them: each plain ? is the next position, ?N and $N name their
// position, a name is looked up by name and takes the next position when new.
func newSource(lx *Lexis, sql string) *source {
	s := &source{sql: sql}
	sc := NewScanner(lx, sql)
	count := paramCount{}
	for {
		t := sc.Next()
		if t.Kind == EOF {
			break
		}
		s.tokens = append(s.tokens, t)
		switch t.Kind {
		case Bad:
			s.bad = true
		case ParamTok:
			a, ok := count.add(sql[t.Start:t.End])
			s.bad = s.bad || !ok
			s.params = append(s.params, param{t.Span, a})
		}
	}
	s.count = count.most
	s.exec = sc.Exec
	return s
}

// paramCount numbers placeholders in the order in which they are added.
type paramCount struct {
	next, most int
	named      map[string]int
}

// maxNames is more than any engine takes of named placeholders.
const maxNames = 1 << 16

// add returns the argument that a placeholder takes; ok is false when no
// engine takes it.
func (c *paramCount) add(tok string) (a Arg, ok bool) {
	a, ok = Arg{Index: c.next}, true
	switch {
	case tok == "?":
		c.next++
	case isDigit(tok[1]) && (tok[0] == '?' || tok[0] == '$'): // :1 has a name
		n, err := strconv.Atoi(tok[1:])
		if ok = err == nil && n >= 1 && n <= 1<<20; !ok {
			n = 1
		}
		a.Index = n - 1
		c.next = max(c.next, n)
	default:
		a.Name = tok[1:]
		if i, had := c.named[tok]; had {
			a.Index = i
			break
		}
		if ok = len(c.named) < maxNames; !ok {
			break
		}
		if c.named == nil {
			c.named = map[string]int{}
		}
		c.named[tok] = c.next
		c.next++
	}
	c.most = max(c.most, a.Index+1)
	return a, ok
}

// paramAt returns the argument that the placeholder at that span takes.
func (s *source) paramAt(sp Span) (Arg, bool) {
	i := sort.Search(len(s.params), func(i int) bool { return s.params[i].Start >= sp.Start })
	if i < len(s.params) && s.params[i].Span == sp {
		return s.params[i].arg, true
	}
	return Arg{}, false
}

// inputs is the number of arguments that the statement takes.
func (s *source) inputs() int { return s.count }

// nextToken returns where the first token at or after a place in the SQL
// begins, or the SQL's length.
func (s *source) nextToken(at int) int {
	if s.large {
		return at // tokens holds the first ones only
	}
	i := sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].Start >= at })
	if i == len(s.tokens) {
		return len(s.sql)
	}
	return s.tokens[i].Start
}

// is reports whether token i is the given unquoted word or operator.
func (s *source) is(i int, word string) bool {
	if i < 0 || i >= len(s.tokens) {
		return false
	}
	t := s.tokens[i]
	return (t.Kind == Word || t.Kind == Operator) && strings.EqualFold(s.sql[t.Start:t.End], word)
}

// hasWord reports whether an unquoted word occurs in the statement.
func (s *source) hasWord(word string) bool {
	for i := range s.tokens {
		if s.tokens[i].Kind == Word && s.is(i, word) {
			return true
		}
	}
	return false
}

// namesOwn reports whether a name may be one that slotsql uses in the SQL that it writes: slotsql_s, slotsql_k0.
func (s *source) namesOwn() bool {
	return s.hasName(func(name string) bool {
		return len(name) > len(ownNames) && equalFold(name[:len(ownNames)], ownNames) &&
			strings.Trim(name[len(ownNames)+1:], "0123456789") == ""
	})
}

// hasName reports whether is holds for a token of the statement, without the quotes of a name.
func (s *source) hasName(is func(name string) bool) bool {
	return slices.ContainsFunc(s.tokens, func(t Token) bool { return is(s.unquoted(t)) })
}

// unquoted is a token without the quotes of a name.
func (s *source) unquoted(t Token) string { return strings.Trim(s.sql[t.Start:t.End], "\"`[]") }

// ownNames begins these names; a letter follows, and perhaps a number.
const ownNames = "slotsql_"

// hasOperator reports whether an operator occurs in the statement.
func (s *source) hasOperator(op string) bool {
	for i := range s.tokens {
		if s.tokens[i].Kind == Operator && s.is(i, op) {
			return true
		}
	}
	return false
}

// scan returns all tokens of SQL, and whether it holds executable comments.
func scan(lx *Lexis, sql string) ([]Token, bool) {
	sc := NewScanner(lx, sql)
	out := make([]Token, 0, len(sql)/5+4)
	for {
		t := sc.Next()
		if t.Kind == EOF {
			return out, sc.Exec
		}
		out = append(out, t)
	}
}

// split cuts SQL at its top-level semicolons into spans of statements;
// empty statements are left out. BEGIN ... END bodies (triggers, procedures,
// anonymous blocks) hold semicolons, so SQL is not cut from a statement on
// that creates one.
//
// With executable comments (exec) a statement may be a comment.
func split(sql string, tokens []Token, exec bool) []Span {
	code := func(part string) bool {
		return exec && (strings.Contains(part, "/*!") || strings.Contains(part, "/*M!"))
	}
	var out []Span
	start, count, depth := 0, 0, 0
	for i, t := range tokens {
		if count == 0 && wholeStatement(sql, tokens, i) {
			return append(out, Span{start, len(sql)})
		}
		if t.Kind == Operator && t.End == t.Start+1 {
			switch sql[t.Start] {
			case '(':
				depth++
			case ')':
				depth--
			case ';':
				if depth <= 0 {
					if count > 0 || code(sql[start:t.Start]) {
						out = append(out, Span{start, t.Start})
					}
					start, count, depth = t.End, 0, 0
					continue
				}
			}
		}
		count++
	}
	if count > 0 || code(sql[start:]) {
		out = append(out, Span{start, len(sql)})
	}
	return out
}

package rewrite

import (
	"slices"
	"sort"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// source is one statement's SQL with its tokens and placeholders.
type source struct {
	sql    string
	tokens []lex.Token
	params []param
	exec   bool            // holds an executable comment
	bad    bool            // holds something the scanner does not understand
	count  int             // of arguments
	words  map[string]bool // in upper case; nil until one is asked for
	// large reports whether tokens holds the first ones only, and params nothing;
	// several, that more than one statement is in large SQL.
	large, several bool
}

type param struct {
	ast.Span
	arg     Arg
	invalid bool // no engine accepts it
}

// newSource scans one statement. Placeholders are counted as the engine
// counts them: each plain ? is the next position, ?N and $N name their
// position, a name is looked up by name and takes the next position when new.
func newSource(lx *lex.Rules, sql string) *source {
	s := &source{sql: sql}
	sc := lex.NewScanner(lx, sql)
	count := lex.Placeholders{}
	for {
		t := sc.Next()
		if t.Kind == lex.EOF {
			break
		}
		s.tokens = append(s.tokens, t)
		switch t.Kind {
		case lex.Bad:
			s.bad = true
		case lex.Param:
			index, name, ok := count.Add(sql[t.Start:t.End])
			s.bad = s.bad || !ok
			s.params = append(s.params, param{ast.Span(t.Span), Arg{Index: index, Name: name}, !ok})
		}
	}
	s.count = count.Count
	s.exec = sc.Exec
	return s
}

// paramAt returns the argument that the placeholder at that span takes.
func (s *source) paramAt(sp ast.Span) (Arg, bool) {
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
	if i := s.tokenAt(at); i < len(s.tokens) {
		return s.tokens[i].Start
	}
	return len(s.sql)
}

// is reports whether token i is the given unquoted word or operator.
func (s *source) is(i int, word string) bool {
	if i < 0 || i >= len(s.tokens) {
		return false
	}
	t := s.tokens[i]
	return (t.Kind == lex.Word || t.Kind == lex.Operator) && strings.EqualFold(s.sql[t.Start:t.End], word)
}

// firstWord returns the statement's first token, in upper case; "" for none.
func (s *source) firstWord() string {
	if len(s.tokens) == 0 {
		return ""
	}
	return strings.ToUpper(s.sql[s.tokens[0].Start:s.tokens[0].End])
}

// hasWord reports whether an unquoted word, in upper case, occurs in the statement.
func (s *source) hasWord(word string) bool {
	if s.words == nil {
		s.words = map[string]bool{}
		for _, t := range s.tokens {
			if t.Kind == lex.Word {
				s.words[strings.ToUpper(s.sql[t.Start:t.End])] = true
			}
		}
	}
	return s.words[word]
}

// hasWordIn reports whether an unquoted word occurs in a part of the statement.
func (s *source) hasWordIn(sp ast.Span, word string) bool {
	for i := s.tokenAt(sp.Start); i < len(s.tokens) && s.tokens[i].End <= sp.End; i++ {
		if s.is(i, word) {
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
	return slices.ContainsFunc(s.tokens, func(t lex.Token) bool { return is(s.unquoted(t)) })
}

// unquoted is a token without the quotes of a name.
func (s *source) unquoted(t lex.Token) string { return strings.Trim(s.sql[t.Start:t.End], "\"`[]") }

// ownNames begins these names; a letter follows, and perhaps a number.
const ownNames = "slotsql_"

// hasOperator reports whether an operator occurs in the statement.
func (s *source) hasOperator(op string) bool {
	for i := range s.tokens {
		if s.tokens[i].Kind == lex.Operator && s.is(i, op) {
			return true
		}
	}
	return false
}

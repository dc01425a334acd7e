package rewrite

import (
	"strconv"
	"strings"
)

// source is one statement's text with its tokens and placeholders.
type source struct {
	text   string
	tokens []Token
	params []param
	exec   bool // holds an executable comment
	bad    bool // holds something the scanner does not understand
}

type param struct {
	Span
	arg Arg
}

// newSource scans one statement. Placeholders are counted as the engine
// counts them: each plain ? is the next position, ?N and $N name their
// position, a name is looked up by name and takes the next position when new.
func newSource(lx *Lexis, text string) *source {
	s := &source{text: text}
	sc := NewScanner(lx, text)
	next := 0
	named := map[string]int{}
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
			tok := text[t.Start:t.End]
			a := Arg{Index: next}
			switch {
			case tok == "?":
				next++
			case isDigit(tok[1]):
				n, err := strconv.Atoi(tok[1:])
				if err != nil || n < 1 || n > 1<<20 {
					s.bad = true
					n = 1
				}
				a.Index = n - 1
				next = max(next, n)
			default:
				a.Name = tok[1:]
				if i, ok := named[tok]; ok {
					a.Index = i
				} else {
					named[tok] = next
					next++
				}
			}
			s.params = append(s.params, param{t.Span, a})
		}
	}
	s.exec = sc.Exec
	return s
}

// paramAt returns the argument that the placeholder at that span takes.
func (s *source) paramAt(sp Span) (Arg, bool) {
	for _, p := range s.params {
		if p.Span == sp {
			return p.arg, true
		}
	}
	return Arg{}, false
}

// inputs is the number of arguments that the statement takes.
func (s *source) inputs() int {
	n := 0
	for _, p := range s.params {
		n = max(n, p.arg.Index+1)
	}
	return n
}

// is says whether token i is the given unquoted word or operator.
func (s *source) is(i int, word string) bool {
	if i < 0 || i >= len(s.tokens) {
		return false
	}
	t := s.tokens[i]
	return (t.Kind == Word || t.Kind == Operator) && strings.EqualFold(s.text[t.Start:t.End], word)
}

// hasWord says whether an unquoted word occurs in the statement.
func (s *source) hasWord(word string) bool {
	for i := range s.tokens {
		if s.tokens[i].Kind == Word && s.is(i, word) {
			return true
		}
	}
	return false
}

// split cuts a text at its top-level semicolons into spans of statements;
// empty statements are left out. BEGIN ... END bodies (triggers, procedures,
// anonymous blocks) hold semicolons, so a text is not cut from a statement on
// that creates one.
func split(text string, tokens []Token) []Span {
	word := func(i int) string {
		if i < len(tokens) && tokens[i].Kind == Word {
			return strings.ToUpper(text[tokens[i].Start:tokens[i].End])
		}
		return ""
	}
	// whole says that the statement that begins with token i holds semicolons.
	whole := func(i int) bool {
		switch word(i) {
		case "BEGIN":
			return word(i+1) == "NOT"
		case "CREATE", "ALTER", "DELIMITER":
		default:
			return false
		}
		for j := i + 1; j < i+16; j++ {
			switch word(j) {
			case "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE":
				return true
			}
		}
		return false
	}
	var out []Span
	start, count, depth := 0, 0, 0
	for i, t := range tokens {
		if count == 0 && whole(i) {
			return append(out, Span{start, len(text)})
		}
		if t.Kind == Operator && t.End == t.Start+1 {
			switch text[t.Start] {
			case '(':
				depth++
			case ')':
				depth--
			case ';':
				if depth <= 0 {
					if count > 0 {
						out = append(out, Span{start, t.Start})
					}
					start, count, depth = t.End, 0, 0
					continue
				}
			}
		}
		count++
	}
	if count > 0 {
		out = append(out, Span{start, len(text)})
	}
	return out
}

package lex

import "strings"

// nameMarks begin a placeholder with a name, as $ does; SQLite has no operator with one of them.
const nameMarks = ":@#"

// name is the token of a placeholder whose name begins at i, behind its mark at start. SQLite
// takes names that begin with a digit, and those of Tcl: $ns::array(key). It refuses a statement
// with half a name, so nothing behind one is looked at.
func (s *Scanner) name(start, i int) Token {
	if !s.at(i, IsWordPart) && !strings.HasPrefix(s.sql[i:], "::") {
		return s.token(Bad, start, i)
	}
	for named := false; ; {
		switch {
		case s.at(i, IsWordPart):
			i, named = i+1, true
		case strings.HasPrefix(s.sql[i:], "::"):
			i += 2
		case !named:
			return s.token(Bad, start, len(s.sql))
		case s.at(i, func(b byte) bool { return b == '(' }):
			n := strings.IndexAny(s.sql[i:], ") \t\n\v\f\r")
			if n < 0 || s.sql[i+n] != ')' {
				return s.token(Bad, start, len(s.sql))
			}
			return s.token(Param, start, i+n+1)
		default:
			return s.token(Param, start, i)
		}
	}
}

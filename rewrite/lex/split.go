package lex

import "strings"

// Split divides the SQL of one call at its top-level semicolons, and returns the spans of its
// statements without the empty ones. A statement with a body (HasBody) extends to the end of
// the SQL: bodies contain semicolons, and where they end is not looked for.
//
// With executable comments (exec) a statement may be nothing but a comment.
func Split(sql string, tokens []Token, exec bool) []Span {
	code := func(part string) bool {
		return exec && (strings.Contains(part, "/*!") || strings.Contains(part, "/*M!"))
	}
	var out []Span
	start, count, depth := 0, 0, 0
	for i, t := range tokens {
		if count == 0 && HasBody(sql, tokens, i) {
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

// HasBody reports whether the statement that begins with token i may contain semicolons:
// CREATE TRIGGER, CREATE PROCEDURE and the like, and compound statements.
func HasBody(sql string, tokens []Token, i int) bool {
	word := func(i int) string {
		if i < len(tokens) && tokens[i].Kind == Word {
			return strings.ToUpper(sql[tokens[i].Start:tokens[i].End])
		}
		return ""
	}
	switch word(i) {
	case "BEGIN":
		return word(i+1) == "NOT"
	case "IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR":
		return true // of a compound statement; nothing else begins so
	case "CREATE", "ALTER", "DELIMITER":
	default:
		// label: LOOP
		return i+2 < len(tokens) && tokens[i+1].Kind == Operator && sql[tokens[i+1].Start:tokens[i+1].End] == ":" &&
			HasBody(sql, tokens, i+2) &&
			word(i+2) != "CREATE" &&
			word(i+2) != "ALTER"
	}
	for j := i + 1; j < i+16; j++ {
		switch word(j) {
		case "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE":
			return true
		}
	}
	return false
}

package lex

import "strings"

// Temporary reports whether a statement that changes the schema may make, change or drop a temporary table:
// whether one of its words, names and literals, which may be code, is TEMP or TEMPORARY, or the name of the
// schema that temporary tables are in.
func Temporary(rules *Rules, sql string) bool {
	return ContainsFold(sql, "temp") && anyWord(rules, sql, func(word string) bool {
		return strings.EqualFold(word, "temp") || strings.EqualFold(word, "temporary") || len(word) >= 7 && strings.EqualFold(word[:7], "pg_temp")
	})
}

// HasWord reports whether one of a statement's words, names and literals, which may be code, has the given word in it.
func HasWord(rules *Rules, sql, word string) bool {
	return ContainsFold(sql, word) && anyWord(rules, sql, func(w string) bool { return strings.EqualFold(w, word) })
}

func anyWord(rules *Rules, sql string, is func(word string) bool) bool {
	tokens, exec := Scan(rules, sql)
	for _, t := range tokens {
		for _, word := range strings.FieldsFunc(sql[t.Start:t.End], func(r rune) bool { return r < 0x80 && !IsWordPart(byte(r)) }) {
			if is(word) {
				return true
			}
		}
	}
	return exec // the code of an executable comment is not among the tokens
}

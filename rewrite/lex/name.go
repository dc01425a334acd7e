package lex

import "strings"

// maxName is the number of bytes of a name as written that PostgreSQL stores; it cuts off the rest.
const maxName = 63

// Spelled returns the part of a stored name that every statement contains, in some letter case,
// that uses the name, quoted or not. A quote inside a name is written twice, so it is the
// longest part without quotes, and may be empty.
func Spelled(name string) string {
	longest := ""
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return r == '"' || r == '`' || r == '\'' }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// Spells reports whether an unquoted word may be the stored name.
func Spells(word, name string) bool {
	return strings.EqualFold(word, name) ||
		len(name) >= maxName-utf8Tail && len(word) > len(name) && strings.EqualFold(word[:len(name)], name)
}

// utf8Tail is how many bytes less than maxName PostgreSQL may store, so as not to cut a character.
const utf8Tail = 3

// ContainsFold reports whether sub occurs in s, ASCII letters compared without
// case.
func ContainsFold(s, sub string) bool {
	if sub == "" {
		return true
	}
	for i := 0; i+len(sub) <= len(s); i++ {
		if (sub[0] >= 0x80 || s[i]|0x20 == sub[0]|0x20) && strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}

// EscapedNames reports whether a statement may contain identifiers written with escapes, such
// as U&"\0441": a search for a table's name would not find it there.
func EscapedNames(rules *Rules, sql string) bool {
	return rules.EString && (strings.Contains(sql, `U&"`) || strings.Contains(sql, `u&"`))
}

// SetsPath reports whether SQL may set the search path (PostgreSQL).
func SetsPath(sql string) bool {
	return ContainsFold(sql, "set_config") || ContainsFold(sql, "search_path")
}

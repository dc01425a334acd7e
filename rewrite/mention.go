package rewrite

import "strings"

// maxName is the number of bytes at which PostgreSQL cuts a name as written to
// the name that it stores.
const maxName = 63

// Spelled returns a piece of a stored name that stands, but for letter case,
// in every text that names it in quotes or not: a quote inside a name is
// written twice, so the piece is the longest one without quotes. It may be
// empty.
func Spelled(name string) string {
	longest := ""
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return r == '"' || r == '`' || r == '\'' }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// spells says whether an unquoted word may be the stored name.
func spells(word, name string) bool {
	return strings.EqualFold(word, name) ||
		len(name) >= maxName-utf8Tail && len(word) > len(name) && strings.EqualFold(word[:len(name)], name)
}

// utf8Tail is how much shorter than maxName a name may be cut, so that no
// character is.
const utf8Tail = 3

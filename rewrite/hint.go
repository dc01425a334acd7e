package rewrite

import "strings"

// A hint is a leading comment that tells slotsql how to treat one statement.
type hint int

const (
	noHint hint = iota
	// hintOff, /* slotsql: off */: the statement goes to the parent as it is.
	hintOff
	// hintBase, /* slotsql: base */: a query sees base values.
	hintBase
)

// hintOf reads the comment that a statement begins with.
func hintOf(sql string) hint {
	body, ok := strings.CutPrefix(strings.TrimLeft(sql, " \t\r\n"), "/*")
	if !ok {
		return noHint
	}
	body, _, ok = strings.Cut(body, "*/")
	if !ok {
		return noHint
	}
	word, ok := strings.CutPrefix(strings.TrimSpace(body), "slotsql:")
	if !ok {
		return noHint
	}
	switch strings.TrimSpace(word) {
	case "off":
		return hintOff
	case "base":
		return hintBase
	}
	return noHint
}

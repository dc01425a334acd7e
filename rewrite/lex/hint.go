package lex

import "strings"

// A Hint is a leading comment that tells slotsql how to treat one statement.
type Hint int

// The hints.
const (
	NoHint Hint = iota
	// HintOff, /* slotsql: off */: the statement goes to the parent driver as it is.
	HintOff
	// HintBase, /* slotsql: base */: a query sees base values.
	HintBase
)

// HintOf returns the hint in the comment that a statement begins with.
func HintOf(sql string) Hint {
	body, ok := strings.CutPrefix(strings.TrimLeft(sql, " \t\r\n"), "/*")
	if !ok {
		return NoHint
	}
	body, _, ok = strings.Cut(body, "*/")
	if !ok {
		return NoHint
	}
	word, ok := strings.CutPrefix(strings.TrimSpace(body), "slotsql:")
	if !ok {
		return NoHint
	}
	switch strings.TrimSpace(word) {
	case "off":
		return HintOff
	case "base":
		return HintBase
	}
	return NoHint
}

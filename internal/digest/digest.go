// Package digest writes statements without their values: for a report that must show no data, and
// as a key under which statements that differ in values only are counted together.
package digest

import (
	"strings"
	"unicode"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// maxText is how much of a statement a report shows.
const maxText = 400

// Text writes a statement for a report: on one line, without comments, every
// literal and placeholder as ?, lists of them as one. No value of the
// application's data survives. Statements that differ in values only have the
// same text.
func Text(lx *lex.Rules, sql string) string {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.Join(tokens(lx, sql, false), ""), " "))
	if r := []rune(line); len(r) > maxText {
		line = string(r[:maxText]) + "..."
	}
	return line
}

// Key is the same for statements that differ in values, white space, letter
// case or quotes around names only: as an application writes them, and as a
// server's statistics do.
func Key(lx *lex.Rules, sql string) string {
	return strings.Join(tokens(lx, sql, true), " ")
}

// tokens returns a statement's tokens without values. To show them each has a space
// before it that had one; as a key they are bare.
func tokens(lx *lex.Rules, sql string, key bool) []string {
	var out []string
	last := 0
	for _, t := range lex.Tokens(lx, sql) {
		s := sql[t.Start:t.End]
		if key && t.Kind == lex.QuotedIdent && len(s) > 2 {
			s = s[1 : len(s)-1]
		}
		switch t.Kind {
		case lex.String, lex.Number, lex.Param, lex.Bad:
			s = "?"
		case lex.Operator:
			if s[0] != '?' {
				s = strings.TrimSuffix(s, "?") // a placeholder of another kind
				if len(s) < t.End-t.Start {
					s += " ?"
				}
			}
		}
		switch {
		case key:
			s = strings.ToUpper(s)
		case t.Start > last && last > 0:
			s = " " + s
		}
		last = t.End
		out = append(out, s)
		out = fold(out)
		if len(out) > maxText && !key {
			break
		}
	}
	return out
}

// fold makes one of the end of a list: ?, ? becomes ?, ... and (?), (?) becomes
// (?), ...
func fold(out []string) []string {
	n := len(out)
	at := func(i int) string { return strings.TrimSpace(out[n-i]) }
	switch {
	case n >= 3 && at(1) == "?" && at(2) == "," && (at(3) == "?" || at(3) == "..."):
		if at(3) == "..." {
			return out[:n-2]
		}
		out[n-1] = " ..."
		return out[:n:n]
	case at(1) == ")":
		return foldRows(out)
	}
	return out
}

// foldRows drops a row that is like the one before it.
func foldRows(out []string) []string {
	row := func(end int) int { // where the row that ends here begins
		for i := end - 1; i >= 0 && end-i < 64; i-- {
			switch strings.TrimSpace(out[i]) {
			case "(":
				return i
			case "?", ",", "...":
			default:
				return -1
			}
		}
		return -1
	}
	n := len(out)
	begin := row(n - 1)
	if begin < 2 || strings.TrimSpace(out[begin-1]) != "," {
		return out
	}
	switch strings.TrimSpace(out[begin-2]) {
	case "...":
		if begin >= 3 && strings.TrimSpace(out[begin-3]) == "," {
			return out[:begin-1]
		}
	case ")":
		if row(begin-2) >= 0 {
			return append(out[:begin], " ...")
		}
	}
	return out
}

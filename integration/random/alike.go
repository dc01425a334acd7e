package random

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

var (
	// A token that may be a literal, or that has what looks like one inside it.
	literals = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|/\\*.*?\\*/|(?:--|#)[^\n]*|'(?:[^']|'')*'|[\\w.$]+")
	simple   = regexp.MustCompile("^'[^'\"`\\\\[:^ascii:][:cntrl:]]*'$")
	small    = regexp.MustCompile(`^[1-9]\d{0,3}$`)
	begins   = regexp.MustCompile(`(?i)\b(WHERE|SET|VALUES|HAVING|ON)\b`)
	ends     = regexp.MustCompile(`(?i)\b(ORDER BY|GROUP BY|LIMIT|RETURNING)\b`)
)

// Alike returns a statement that differs from another in literals, or "" if there are none to change. Most literals
// stay of their kind (a number of few digits, a string of ASCII characters), so that slotsql may make one plan of
// both statements. Those of a select list, ORDER BY, GROUP BY and LIMIT stay as they are.
func Alike(sql string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, uint64(len(sql))))
	from, to := len(sql), len(sql)
	if at := begins.FindStringIndex(sql); at != nil {
		from = at[1]
	}
	closed := strings.LastIndexByte(sql, ')') + 1 // of a query in parentheses literals may be changed to its end
	if at := ends.FindStringIndex(sql[closed:]); at != nil {
		to = closed + at[0]
	}
	if from >= to {
		return ""
	}
	changed := false
	out := literals.ReplaceAllStringFunc(sql[from:to], func(s string) string {
		other := s
		switch {
		case simple.MatchString(s):
			other = []string{"'a'", "'zz'", "'c d'", "'7'", "'a|b'", "''"}[r.IntN(6)]
		case s[0] == '\'' && !strings.Contains(s, `\`):
			other = []string{"'it''s'", "'é'"}[r.IntN(2)]
		case small.MatchString(s):
			other = strconv.Itoa(1 + r.IntN([]int{9, 50, 5000}[r.IntN(3)]))
		}
		changed = changed || other != s
		return other
	})
	if !changed {
		return ""
	}
	return sql[:from] + out + sql[to:]
}

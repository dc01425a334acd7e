package random

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

var (
	literals = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|/\\*.*?\\*/|(?:--|#)[^\n]*|'(?:[^']|'')*'|[\\w.$]+")
	begins   = regexp.MustCompile(`(?i)\b(WHERE|SET|VALUES|HAVING|ON)\b`)
	ends     = regexp.MustCompile(`(?i)\b(ORDER BY|GROUP BY|LIMIT|RETURNING)\b`)
)

// Alike writes a statement that differs in literals, which may be of a kind such that slotsql makes one plan
// of both; "" if there are none to change.
func Alike(sql string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, uint64(len(sql))))
	from, to := len(sql), len(sql)
	if at := begins.FindStringIndex(sql); at != nil {
		from = at[1]
	}
	if at := ends.FindAllStringIndex(sql, -1); at != nil {
		to = at[len(at)-1][0]
	}
	if from >= to {
		return ""
	}
	changed := false
	out := literals.ReplaceAllStringFunc(sql[from:to], func(s string) string {
		other := s
		switch {
		case s[0] == '\'' && strings.Trim(s, " !#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~") == "''":
			other = []string{"'a'", "'zz'", "'c d'", "'7'", "'a|b'", "''"}[r.IntN(6)]
		case s[0] == '\'' && !strings.Contains(s, `\`):
			other = []string{"'it''s'", "'é'"}[r.IntN(2)]
		case s[0] >= '1' && s[0] <= '9' && strings.Trim(s, "0123456789") == "" && len(s) <= 4:
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

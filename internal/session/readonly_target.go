package session

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// changesDrained reports whether the statement certainly changes rows of a counter table that it
// drains: it begins as UPDATE, DELETE, INSERT or REPLACE of that table alone. A READ ONLY
// transaction refuses it whatever the slots hold, so nothing has to be done for it. (A temporary
// table of that name is not drained.)
func (r *Run) changesDrained() bool {
	query := r.Plan.SQL
	var words []string
	for _, t := range rewrite.Tokens(r.conn.Dialect().Lexis(), query) {
		if words = append(words, query[t.Start:t.End]); len(words) > maxTargetWords {
			break
		}
	}
	verb, words := leading(words, "UPDATE", "DELETE", "INSERT", "REPLACE")
	if verb == "" {
		return false
	}
	for more := verb; more != ""; {
		more, words = leading(words, "ONLY", "FROM", "INTO", "LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE")
	}
	if len(words) == 0 || !slices.ContainsFunc(r.Plan.Drain.Tables, func(d rewrite.DrainTable) bool {
		return strings.EqualFold(strings.Trim(words[0], "`\""), d.Table.Name)
	}) {
		return false
	}
	// What follows the name tells that there is no other table, and no schema before it.
	end, _ := leading(words[1:], "SET", "WHERE", "(", "VALUES", "VALUE", "SELECT", "DEFAULT", ";")
	return end != "" || len(words) == 1
}

// maxTargetWords is how many tokens changesDrained looks at.
const maxTargetWords = 12

// leading cuts off the first word, in upper case, if it is one of a list.
func leading(words []string, list ...string) (first string, rest []string) {
	if len(words) == 0 {
		return "", words
	}
	if w := strings.ToUpper(words[0]); slices.Contains(list, w) {
		return w, words[1:]
	}
	return "", words
}

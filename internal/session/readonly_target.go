package session

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// changesDrained reports whether the statement certainly changes rows of a counter table that it
// drains: it begins as UPDATE, DELETE, INSERT, REPLACE or MERGE of that table alone, or has such a
// statement as a WITH query. A READ ONLY transaction refuses it whatever the slots hold, so nothing
// has to be done for it. (A temporary table of that name is not drained.)
func (r *Run) changesDrained() bool {
	words := r.words(maxTargetWords)
	if len(words) > 0 && strings.EqualFold(words[0], "WITH") {
		words = r.words(len(r.Plan.SQL))
		return slices.ContainsFunc(suffixes(words), r.changesTarget)
	}
	return r.changesTarget(words)
}

// changesTarget reports whether words are the beginning of such a statement.
func (r *Run) changesTarget(words []string) bool {
	verb, words := leading(words, "UPDATE", "DELETE", "INSERT", "REPLACE", "MERGE")
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
	end, _ := leading(words[1:], "SET", "WHERE", "(", "VALUES", "VALUE", "SELECT", "DEFAULT", "RETURNING", ")", ";")
	return end != "" || len(words) == 1 || verb == "MERGE" && strings.EqualFold(words[1], "USING")
}

// mayLock reports whether the statement is a query that may lock rows (FOR UPDATE, FOR KEY SHARE).
func (r *Run) mayLock() bool {
	words := r.words(len(r.Plan.SQL))
	if query, _ := leading(words, "SELECT"); query == "" {
		return false
	}
	return slices.ContainsFunc(suffixes(words), func(words []string) bool {
		if lock, rest := leading(words, "FOR"); lock != "" {
			lock, _ = leading(rest, "UPDATE", "NO", "SHARE", "KEY")
			return lock != ""
		}
		return false
	})
}

// words returns the statement's first tokens.
func (r *Run) words(most int) (words []string) {
	query := r.Plan.SQL
	for _, t := range lex.Tokens(r.conn.Dialect().LexRules(), query) {
		if words = append(words, query[t.Start:t.End]); len(words) > most {
			break
		}
	}
	return words
}

// suffixes are the lists that end as words does, the longest first.
func suffixes(words []string) [][]string {
	out := make([][]string, len(words))
	for i := range words {
		out[i] = words[i:]
	}
	return out
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

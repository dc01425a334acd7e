package session

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Several statements in one call with too few arguments for all of them, or too many: what the parent checks of the
// whole call it checks before the first of them runs.
func TestBatchArguments(t *testing.T) {
	texts := map[string][]string{
		"mysql": {
			"UPDATE posts SET views = views + ? WHERE id = ?; UPDATE posts SET views = views + ? WHERE id = ?",
			"UPDATE posts SET views = ? WHERE id = ?; UPDATE posts SET title = ? WHERE id = ?",
			"UPDATE posts SET title = ? WHERE id = ?; UPDATE posts SET views = views * 2 WHERE id IN (?, ?)",
		},
		"postgres": {
			"UPDATE posts SET views = views + $1 WHERE id = $2; UPDATE posts SET views = views + $3 WHERE id = $4",
			"UPDATE posts SET views = $1 WHERE id = $2; UPDATE posts SET likes = $3 WHERE id = $4",
			"UPDATE posts SET views = views + $1 WHERE id = $2; UPDATE posts SET views = views + $1 WHERE id = $3 AND $4 = $4",
		},
	}
	texts["sqlite"] = texts["mysql"]
	params := map[string][]string{
		"mysql":    {"", "multiStatements=true", "multiStatements=true&interpolateParams=true", "interpolateParams=true"},
		"postgres": {"", "default_query_exec_mode=simple_protocol", "default_query_exec_mode=exec", "default_query_exec_mode=cache_describe"},
		"sqlite":   {""},
	}
	args := []any{2, 1, 5, 3, 2, 9}
	each(t, func(t *testing.T, dialect string) {
		for _, params := range params[dialect] {
			p := newPair(t, dialect, params)
			one := pinned(t, p)
			for _, text := range texts[dialect] {
				for n := range args {
					t.Run(fmt.Sprintf("%s/%d/%.30s", params, n, text), func(t *testing.T) {
						one.same(t, twin.Statement{SQL: text, Args: args[:n]})
						one.same(t, twin.Statement{SQL: totals})
						one.same(t, twin.Statement{SQL: text, Args: args[:n], Prepared: true})
						one.same(t, twin.Statement{SQL: totals})
					})
				}
			}
		}
	})
}

package rewrite

import (
	"sort"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// An edit replaces a span of the statement.
type edit struct {
	ast.Span
	sql string
}

func (s *source) apply(edits []edit) string {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].Start < edits[j].Start })
	var b strings.Builder
	last := 0
	for _, e := range edits {
		b.WriteString(s.sql[last:e.Start])
		b.WriteString(e.sql)
		last = e.End
	}
	b.WriteString(s.sql[last:])
	return b.String()
}

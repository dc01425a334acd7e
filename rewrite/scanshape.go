package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
)

// ScanShape divides a statement into its shape and its literals, as Shape.Scan does for the dialect.
func ScanShape(d Dialect, sh *lex.Shape, sql string, named func(string) bool) bool {
	return sh.Scan(d.LexRules(), d.Traits().ItemNames != names.ItemsByRule, sql, named)
}

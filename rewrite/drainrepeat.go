package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// repeats reports whether a statement that drains reads or changes rows and does nothing
// that a savepoint does not undo.
func (p *planning) repeats(plan *Plan) bool {
	if plan.Effects&(SchemaChange|TxControl) != 0 || len(plan.Drain.Before)+len(plan.Drain.After) > 0 || plan.Drain.OutsideTx {
		return false
	}
	first := lex.NewScanner(p.d.LexRules(), p.src.sql).Next()
	switch strings.ToUpper(p.src.sql[first.Start:first.End]) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		return !p.src.hasWord("OUTFILE") && !p.src.hasWord("DUMPFILE")
	}
	return false
}

package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// repeats reports whether a statement that drains reads or changes rows and does nothing
// that a savepoint does not undo.
func (dr *drainer) repeats(plan *Plan) bool {
	if plan.Effects&(SchemaChange|TxControl) != 0 || len(plan.Drain.Before)+len(plan.Drain.After) > 0 || plan.Drain.OutsideTx {
		return false
	}
	first := lex.NewScanner(dr.d.LexRules(), dr.src.sql).Next()
	switch strings.ToUpper(dr.src.sql[first.Start:first.End]) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		return !dr.src.hasWord("OUTFILE") && !dr.src.hasWord("DUMPFILE")
	}
	return false
}

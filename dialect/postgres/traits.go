package postgres

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	systemColumns = []string{"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
	numberCasts   = map[string]int{"int": 32, "integer": 32, "int4": 32, "bigint": 64, "int8": 64, "numeric": 0, "decimal": 0}
)

// Traits implements rewrite.Dialect.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		Rules: names.Rules{
			StoredNames:    names.NamesStored,
			WholeRow:       true,
			SystemColumns:  systemColumns,
			StrictConflict: true,
		},
		ValueRules: rewrite.ValueRules{
			TypedConstants: true,
			NumberCasts:    numberCasts,
			SumOfInt:       "bigint",
			Stable:         stable,
		},
		ReadRules: rewrite.ReadRules{
			KeyIn:       [2]string{" = ANY (ARRAY(", "))"},
			GroupsByKey: true,
		},
		WriteRules: rewrite.WriteRules{SkipLocked: "FOR NO KEY UPDATE SKIP LOCKED", ChangeKeepsSlotless: true},
		SessionRules: rewrite.SessionRules{
			MultiIsTx:         true,
			MultiProbeArg:     "SELECT ?; SELECT 1",
			StatementTriggers: true,
			ErrorAborts:       true,
			RoutinesKeepTx:    true,
		},
	}
}

// Truncate implements rewrite.Dialect. TRUNCATE refuses a table that a foreign
// key references unless the referencing table is truncated with it.
func (d *Dialect) Truncate(t *schema.Table) (also string, before, after []string) {
	if t.Counter.Layout == schema.LayoutShared {
		return "", nil, nil // the drain has deleted the rows, and keeps new ones out
	}
	return ", " + slotTable(t), nil, nil
}

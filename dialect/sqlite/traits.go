package sqlite

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	systemColumns = []string{"rowid", "oid", "_rowid_"}
	numberCasts   = map[string]int{"integer": 64, "int": 64, "bigint": 64}
)

// Traits implements rewrite.Dialect.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		Rules: names.Rules{
			ItemNames:     names.ItemsToNextToken,
			StoredNames:   names.OutermostNamesStored,
			AliasInExpr:   true,
			SystemColumns: systemColumns,
			RowNumbers:    true,
			NestedNames:   true,
			WithSeesAll:   true,
		},
		ValueRules: rewrite.ValueRules{
			AnyType:        true,
			ColumnsCollate: true,
			ScalarMax:      true,
			NumberCasts:    numberCasts,
			Stable:         stable,
		},
		ReadRules: rewrite.ReadRules{
			KeyIn:   [2]string{" IN (", ")"},
			Defects: rewrite.FullJoinFilter,
		},
		WriteRules: rewrite.WriteRules{OneWriter: true, SlotTriggers: true},
		SessionRules: rewrite.SessionRules{
			ArgsRestart: true,
			SlowParse:   true,
		},
	}
}

// Truncate implements rewrite.Dialect. SQLite has no TRUNCATE.
func (*Dialect) Truncate(*schema.Table) (also string, before, after []string) { return "", nil, nil }

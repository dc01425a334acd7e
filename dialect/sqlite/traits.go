package sqlite

import "github.com/slotsql/slotsql/rewrite"

// Traits implements rewrite.Dialect.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		StoredNames:    true,
		ExprNames:      true,
		NameToNext:     true,
		WrittenInside:  true,
		OneWriter:      true,
		SlotTriggers:   true,
		SlowParse:      true,
		AliasInExpr:    true,
		WithSeesAll:    true,
		ArgsRestart:    true,
		ScalarMax:      true,
		AnyType:        true,
		ColumnsCollate: true,
		NestedNames:    true,
		FullJoins:      true,
		NumberCasts:    map[string]int{"integer": 64, "int": 64, "bigint": 64},
		SystemColumns:  []string{"rowid", "oid", "_rowid_"},
		Steady:         steady,
	}
}

// Truncate implements rewrite.Dialect. SQLite has no TRUNCATE.
func (*Dialect) Truncate(*rewrite.Table) (also string, before, after []string) { return "", nil, nil }

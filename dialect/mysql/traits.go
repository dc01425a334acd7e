package mysql

import "github.com/slotsql/slotsql/rewrite"

// Traits implements rewrite.Dialect.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		ExprNames:          true,
		AliasInExpr:        true,
		HavingAlias:        true,
		LooseEquality:      true,
		UpsertSetsInsertID: true,
		LockTables:         true,
		ReplaceCascades:    true,
		UpsertCounts:       true,
	}
}

// Truncate implements rewrite.Dialect. TRUNCATE refuses a table that a foreign
// key references, even by an empty table; the check is off for this statement
// alone, and only where no foreign key but the slot table's own is there.
func (*Dialect) Truncate(t *rewrite.Table) (also string, before, after []string) {
	if t.Referencing {
		return "", nil, nil
	}
	return "", []string{"SET @slotsql_foreign_key_checks = @@SESSION.foreign_key_checks, SESSION foreign_key_checks = 0"},
		[]string{"SET SESSION foreign_key_checks = @slotsql_foreign_key_checks"}
}

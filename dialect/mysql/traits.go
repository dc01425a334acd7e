package mysql

import "github.com/slotsql/slotsql/rewrite"

// Traits says how MySQL differs where the planner has to know.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		ExprNames:          true,
		AliasInExpr:        true,
		HavingAlias:        true,
		SelfSubqueryFails:  true,
		LooseEquality:      true,
		UpsertSetsInsertID: true,
		InsertIDCall:       "last_insert_id",
		LockTables:         true,
		DynamicSQL:         true,
		Compound:           true,
		DDLCommits:         true,
		CopiesColumns:      true,
		UpsertSeesQuery:    true,
		ReplaceCascades:    true,
		UpsertCounts:       true,
		MissLocks:          true,
		ChangeExcludes:     true,
		ShapeQuery:         true,
		StringsAreFloats:   true,
		NumberCasts:        map[string]int{"signed": 64, "signed integer": 64, "signed int": 64},
		PlainRows:          true,
		StrictGroups:       true,
		MaybeNull:          [2]string{"IF(TRUE, ", ", NULL)"},
		TruthLost:          true,
		Split:              true,
		Apart:              " LIMIT 18446744073709551615",
		OrderedJoin:        "STRAIGHT_JOIN",
		MultiProbe:         "DO 0; DO 0",
		MultiProbeArg:      "DO ?; DO 0",
		Steady:             steady,
		RightsAreFacts:     true,
	}
}

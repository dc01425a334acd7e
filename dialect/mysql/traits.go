package mysql

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/names"
)

var numberCasts = map[string]int{"signed": 64, "signed integer": 64, "signed int": 64}

// Traits implements rewrite.Dialect.
func (d *Dialect) Traits() rewrite.Traits {
	defects := rewrite.RowSubquery | rewrite.QuantifiedNull | rewrite.ImpossibleExists
	if d.MySQL {
		defects |= rewrite.RowOfOne
	}
	return rewrite.Traits{
		Rules: names.Rules{
			ItemNames:       names.ItemsByText,
			AliasInExpr:     true,
			HavingAlias:     true,
			UpsertSeesQuery: true,
		},
		ValueRules: rewrite.ValueRules{
			LooseEquality:    true,
			StringsAreFloats: true,
			NumberCasts:      numberCasts,
			Stable:           stable,
		},
		StatementRules: rewrite.StatementRules{
			DynamicSQL:         true,
			Compound:           true,
			SetStatement:       d.MariaDB,
			LockTables:         true,
			InsertIDCall:       "last_insert_id",
			UpsertSetsInsertID: true,
			CountsChanged:      true,
			UpsertCounts:       true,
		},
		ReadRules: rewrite.ReadRules{
			TotalsChangeTypes: true,
			StrictGroups:      true,
			StrictDistinct:    d.MySQL,
			Unmerged:          " LIMIT 18446744073709551615",
			MaybeNull:         [2]string{"IF(TRUE, ", ", NULL)"},
			SelfSubqueryFails: true,
			Defects:           defects,
		},
		WriteRules: rewrite.WriteRules{
			SkipLocked:      "FOR UPDATE SKIP LOCKED",
			MissLocks:       true,
			LocksReads:      true,
			ChangeExcludes:  true,
			LocksUnchanged:  true,
			ReplaceCascades: !d.KeepsReplaced,
		},
		SessionRules: rewrite.SessionRules{
			DDLCommits:         true,
			MultiProbe:         "DO 0; DO 0",
			MultiProbeArg:      "DO ?; DO 0",
			RightsAreFacts:     true,
			TempUnlisted:       true,
			ViewsElsewhere:     true,
			LimitsPrepared:     true,
			UnsignedByProtocol: true,
		},
	}
}

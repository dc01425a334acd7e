package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file plans MariaDB's SET STATEMENT variable = value, ... FOR statement, which the parser does not know: what follows
// FOR is planned, and runs with the prefix, so that the settings hold for it.

// harmlessSettings are variables that limit or tune a statement, and leave its meaning and the session as they are.
var harmlessSettings = lex.WordSet(`
	MAX_STATEMENT_TIME LOCK_WAIT_TIMEOUT INNODB_LOCK_WAIT_TIMEOUT OPTIMIZER_SWITCH OPTIMIZER_SEARCH_DEPTH OPTIMIZER_PRUNE_LEVEL
	OPTIMIZER_USE_CONDITION_SELECTIVITY USE_STAT_TABLES SORT_BUFFER_SIZE JOIN_BUFFER_SIZE JOIN_BUFFER_SPACE_LIMIT JOIN_CACHE_LEVEL
	READ_BUFFER_SIZE READ_RND_BUFFER_SIZE MRR_BUFFER_SIZE TMP_TABLE_SIZE TMP_MEMORY_TABLE_SIZE MAX_HEAP_TABLE_SIZE LONG_QUERY_TIME
	SLOW_QUERY_LOG EQ_RANGE_INDEX_DIVE_LIMIT IN_PREDICATE_CONVERSION_THRESHOLD
`)

// settings returns where the statement behind SET STATEMENT ... FOR begins; 0 for any other statement, and where a setting is
// no constant or may change what the statement means.
func (pl *Planner) settings(sql string, tokens []lex.Token) int {
	is := func(i int, word string) bool {
		return i < len(tokens) && strings.EqualFold(sql[tokens[i].Start:tokens[i].End], word)
	}
	if !pl.Dialect.Traits().SetStatement || !is(0, "SET") || !is(1, "STATEMENT") {
		return 0
	}
	for i := 2; i+4 < len(tokens); i++ {
		name, value := tokens[i], tokens[i+2]
		if !harmlessSettings[strings.ToUpper(sql[name.Start:name.End])] || !is(i+1, "=") ||
			value.Kind != lex.Number && value.Kind != lex.String && value.Kind != lex.Word {
			return 0
		}
		switch i += 3; {
		case is(i, "FOR"):
			return tokens[i+1].Start
		case !is(i, ","):
			return 0
		}
	}
	return 0
}

// withSettings plans a statement behind settings; nil if it has to be planned as a whole. Only its own forms have the settings,
// not what slotsql runs before or after it: so an increment runs on the base row, and alone.
func (pl *Planner) withSettings(sql string, at int) (*Plan, error) {
	plan, err := pl.plan(sql[at:])
	if err != nil || plan.Class == Multi || plan.Class == Refused || plan.Effects != 0 {
		return nil, err
	}
	if plan.Increment != nil {
		require, ok := plan.Increment.OnBase()
		if !ok {
			return nil, nil
		}
		plan.Class, plan.Reason = AdditiveBase, "the statement has settings of its own"
		plan.Base.Require, plan.Base.Changes = require, []DrainTable{plan.Increment.Row}
		plan.Increment, plan.Drain.Proof = nil, nil
	}
	prefix := sql[:at]
	plan.SQL = prefix + plan.SQL
	if plan.Drain.Proof != nil {
		plan.Drain.Proof.SQL.same = prefix + plan.Drain.Proof.SQL.same
	}
	if o := plan.Read.Observed; o != nil {
		o.SQL.same = prefix + o.SQL.same
		if o.Row != nil {
			o.Row.Held.same = prefix + o.Row.Held.same
		}
	}
	plan.Grouping, plan.Bounded = Grouping{}, nil
	return plan, nil
}

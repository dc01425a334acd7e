package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// definitions plans statements that define, change or remove tables and views, or that lie outside the language that is planned.
type definitions struct {
	d        Dialect
	src      *source
	names    *names.Resolver
	drains   *drainer
	mentions *mentions
}

// planDDL plans statements that change tables as such.
func (df *definitions) planDDL(st *ast.Statement) *Plan {
	if referred := df.referred(); len(referred) > 0 {
		return df.drains.drainAll(referred, "a foreign key that the statement creates refers to a counter")
	}
	var tables, held []*schema.Table
	for _, n := range st.Tables {
		if t := df.names.LookupCounter(n); t != nil {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		} else if t := df.names.LookupAmong(holders(df.mentions.catalog), n); t != nil &&
			(!t.Counter.SlotTable.Holding || st.Kind == ast.KindDrop) {
			held = append(held, t)
		}
	}
	if len(tables) == 0 && (len(held) == 0 || st.Kind != ast.KindTruncate && st.Kind != ast.KindDrop) {
		return &Plan{Class: PassThrough}
	}
	switch {
	case st.Kind == ast.KindTruncate:
		return df.planTruncate(tables, held, nil)
	case st.Kind == ast.KindDrop:
		return df.planDrop(tables, held)
	case df.src.is(0, "ALTER") || df.src.is(0, "RENAME"):
		plan := df.drains.drainAll(tables, "the statement changes a counter table's definition")
		plan.Drain.FoldOptional = !df.needsTotals()
		plan.Drain.OutsideTx = df.src.hasWord("CONCURRENTLY")
		return plan
	case df.watchesUpdates():
		plan := df.planWatcher(tables)
		plan.Drain.FoldOptional = !df.needsTotals()
		return plan
	case df.src.is(0, "LOCK"):
		return df.drains.drainAll(tables, "the statement locks a counter table")
	case df.extends():
		// As ALTER TABLE ... INHERIT and ATTACH PARTITION do.
		return df.drains.drainAll(tables, "the statement changes a counter table's definition")
	}
	return &Plan{Class: PassThrough}
}

// planDrop plans DROP TABLE, by whichever table's name: the slot tables go as well.
func (df *definitions) planDrop(tables, held []*schema.Table) *Plan {
	plan := df.drains.drainAll(tables, "the statement drops a counter table")
	for _, t := range append(tables, held...) {
		drop := t.Counter.SlotTable.Release
		if drop == nil {
			drop = df.d.DropSlots(t)
		}
		for _, s := range drop {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	plan.Drain.FoldOptional = true
	return plan
}

// planWatcher plans what creates such a definition, or a statement that begins with one.
func (df *definitions) planWatcher(tables []*schema.Table) *Plan {
	plan := df.drains.drainAll(tables, "what the statement creates applies to every UPDATE of the table, including later folds")
	plan.Drain.OutsideTx = df.src.hasWord("CONCURRENTLY")
	return plan
}

// extends reports whether the statement creates a table that inherits from others, or is a
// partition of one: what holds for the rows of these changes with it.
func (df *definitions) extends() bool {
	if !df.src.is(0, "CREATE") {
		return false
	}
	for i := range df.src.tokens {
		if df.src.is(i, "INHERITS") || df.src.is(i, "PARTITION") && df.src.is(i+1, "OF") {
			return true
		}
	}
	return false
}

// watchesUpdates reports whether the statement creates a trigger, a rule, a policy or a
// unique index: each meets every UPDATE of a row from then on, does something for it or
// refuses it, and would do so for the fold of what has been counted in slots before.
// (ALTER drains whatever it changes.) The fold comes first, in the statement's own
// transaction where the engine has DDL in one, so that no fold is left for the new
// definition to meet; the counters retire with the next reading of the facts.
func (df *definitions) watchesUpdates() bool {
	if !df.src.is(0, "CREATE") {
		return false
	}
	const before = 10 // words and signs: OR REPLACE DEFINER = 'user' @ 'host'
	for i := 1; i < len(df.src.tokens) && i < before; i++ {
		switch {
		case df.src.is(i, "UNIQUE"), df.src.is(i, "POLICY"):
			return true
		case df.src.is(i, "TRIGGER"), df.src.is(i, "RULE"):
			return df.src.hasWord("UPDATE")
		case df.src.is(i, "TABLE"), df.src.is(i, "INDEX"), df.src.is(i, "VIEW"),
			df.src.is(i, "FUNCTION"), df.src.is(i, "PROCEDURE"), df.src.is(i, "EVENT"):
			return false
		}
	}
	return false
}

// needsTotals reports whether a change of a table's definition means something else
// on base values than on totals: it computes new values, has rows judged by them, or
// gives a name away that slots go by. Any other one leaves base values and slots as
// they are.
func (df *definitions) needsTotals() bool {
	if df.src.is(0, "CREATE") {
		return df.src.is(1, "UNIQUE")
	}
	adds := false
	for i := range df.src.tokens {
		adds = adds || df.src.is(i, "ADD")
		for _, word := range []string{"RENAME", "CHANGE", "USING", "EXCHANGE", "PARTITION"} {
			if df.src.is(i, word) {
				return true
			}
		}
		if df.src.is(i, "REFERENCES") {
			return true
		}
		if adds && (df.src.is(i, "CHECK") || df.src.is(i, "UNIQUE") || df.src.is(i, "GENERATED") || df.src.is(i, "AS")) {
			return true
		}
	}
	return false
}

// replacedTable returns the table that CREATE OR REPLACE TABLE drops, which no
// parser reads (MariaDB); nil for any other statement.
func (df *definitions) replacedTable() []ast.Ident {
	if !df.d.Traits().Compound || !df.src.is(0, "CREATE") || !df.src.is(1, "OR") || !df.src.is(2, "REPLACE") || !df.src.is(3, "TABLE") {
		return nil
	}
	var name []ast.Ident
	for i := 4; i < len(df.src.tokens); i += 2 {
		t := df.src.tokens[i]
		written := df.src.sql[t.Start:t.End]
		switch {
		case t.Kind == lex.Word:
			name = append(name, ast.Ident{Name: written})
		case t.Kind == lex.QuotedIdent && len(written) > 2:
			name = append(
				name,
				ast.Ident{Name: strings.ReplaceAll(written[1:len(written)-1], written[:1]+written[:1], written[:1]), Quoted: true},
			)
		default:
			return nil
		}
		if !df.src.is(i+1, ".") {
			break
		}
	}
	return name
}

// planReplaced plans CREATE OR REPLACE TABLE: as DROP TABLE, and then as a CREATE
// that may read any counter table that it names, the one that it drops included.
func (df *definitions) planReplaced(name []ast.Ident) *Plan {
	plan := df.drains.drainAll(df.mentions.tables(), "the statement drops a counter table")
	if t := df.names.LookupCounter(name); t != nil {
		for _, s := range df.d.DropSlots(t) {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	return plan
}

// planTruncate empties the slots as well: the slot table's foreign key would
// otherwise forbid what the plain driver allows. By is the name by which the statement has a
// table, where that is another one's.
func (df *definitions) planTruncate(tables, held []*schema.Table, by map[*schema.Table]string) *Plan {
	plan := df.drains.drainAll(tables, "TRUNCATE empties the slots as well")
	plan.Drain.FoldOptional = true
	var edits []edit
	for _, t := range append(tables, held...) {
		if t.Counter.SlotTable.Unfit != "" || t.Counter.SlotTable.Release != nil {
			drop := t.Counter.SlotTable.Release
			if drop == nil {
				drop = df.d.DropSlots(t)
			}
			for _, s := range drop {
				plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
			}
			continue
		}
		also, before, after := df.d.Truncate(t)
		for _, s := range before {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
		for _, s := range after {
			plan.Drain.After = append(plan.Drain.After, Bound{SQL: Whole(s)})
		}
		if also == "" {
			continue
		}
		name := t.Name
		if by[t] != "" {
			name = by[t]
		}
		for i, tok := range df.src.tokens {
			// A schema may be called like its table.
			if (tok.Kind == lex.Word || tok.Kind == lex.QuotedIdent) && df.mentions.tokenNames(tok, name) && !df.src.is(i+1, ".") {
				edits = append(edits, edit{ast.At(tok.End), also})
				break
			}
		}
	}
	if len(edits) > 0 {
		plan.SQL = df.src.apply(edits)
	}
	return plan
}

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
func (f *definitions) planDDL(st *ast.Statement) *Plan {
	if referred := f.referred(); len(referred) > 0 {
		return f.drains.drainAll(referred, "a foreign key that the statement creates refers to a counter")
	}
	var tables, held []*schema.Table
	for _, n := range st.Tables {
		if t := f.names.LookupCounter(n); t != nil {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		} else if t := f.names.LookupAmong(holders(f.mentions.catalog), n); t != nil &&
			(!t.Counter.SlotTable.Holding || st.Kind == ast.KindDrop) {
			held = append(held, t)
		}
	}
	if len(tables) == 0 && (len(held) == 0 || st.Kind != ast.KindTruncate && st.Kind != ast.KindDrop) {
		return &Plan{Class: PassThrough}
	}
	switch {
	case st.Kind == ast.KindTruncate:
		return f.planTruncate(tables, held, nil)
	case st.Kind == ast.KindDrop:
		return f.planDrop(tables, held)
	case f.src.is(0, "ALTER") || f.src.is(0, "RENAME"):
		plan := f.drains.drainAll(tables, "the statement changes a counter table's definition")
		plan.Drain.FoldOptional = !f.needsTotals()
		plan.Drain.OutsideTx = f.src.hasWord("CONCURRENTLY")
		return plan
	case f.watchesUpdates():
		plan := f.planWatcher(tables)
		plan.Drain.FoldOptional = !f.needsTotals()
		return plan
	case f.src.is(0, "LOCK"):
		return f.drains.drainAll(tables, "the statement locks a counter table")
	case f.extends():
		// As ALTER TABLE ... INHERIT and ATTACH PARTITION do.
		return f.drains.drainAll(tables, "the statement changes a counter table's definition")
	}
	return &Plan{Class: PassThrough}
}

// planDrop plans DROP TABLE, by whichever table's name: the slot tables go as well.
func (f *definitions) planDrop(tables, held []*schema.Table) *Plan {
	plan := f.drains.drainAll(tables, "the statement drops a counter table")
	for _, t := range append(tables, held...) {
		drop := t.Counter.SlotTable.Release
		if drop == nil {
			drop = f.d.DropSlots(t)
		}
		for _, s := range drop {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	plan.Drain.FoldOptional = true
	return plan
}

// planWatcher plans what creates such a definition, or a statement that begins with one.
func (f *definitions) planWatcher(tables []*schema.Table) *Plan {
	plan := f.drains.drainAll(tables, "what the statement creates applies to every UPDATE of the table, including later folds")
	plan.Drain.OutsideTx = f.src.hasWord("CONCURRENTLY")
	return plan
}

// extends reports whether the statement creates a table that inherits from others, or is a
// partition of one: what holds for the rows of these changes with it.
func (f *definitions) extends() bool {
	if !f.src.is(0, "CREATE") {
		return false
	}
	for i := range f.src.tokens {
		if f.src.is(i, "INHERITS") || f.src.is(i, "PARTITION") && f.src.is(i+1, "OF") {
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
func (f *definitions) watchesUpdates() bool {
	if !f.src.is(0, "CREATE") {
		return false
	}
	const before = 10 // words and signs: OR REPLACE DEFINER = 'user' @ 'host'
	for i := 1; i < len(f.src.tokens) && i < before; i++ {
		switch {
		case f.src.is(i, "UNIQUE"), f.src.is(i, "POLICY"):
			return true
		case f.src.is(i, "TRIGGER"), f.src.is(i, "RULE"):
			return f.src.hasWord("UPDATE")
		case f.src.is(i, "TABLE"), f.src.is(i, "INDEX"), f.src.is(i, "VIEW"),
			f.src.is(i, "FUNCTION"), f.src.is(i, "PROCEDURE"), f.src.is(i, "EVENT"):
			return false
		}
	}
	return false
}

// needsTotals reports whether a change of a table's definition means something else
// on base values than on totals: it computes new values, has rows judged by them, or
// gives a name away that slots go by. Any other one leaves base values and slots as
// they are.
func (f *definitions) needsTotals() bool {
	if f.src.is(0, "CREATE") {
		return f.src.is(1, "UNIQUE")
	}
	adds := false
	for i := range f.src.tokens {
		adds = adds || f.src.is(i, "ADD")
		for _, word := range []string{"RENAME", "CHANGE", "USING", "EXCHANGE", "PARTITION"} {
			if f.src.is(i, word) {
				return true
			}
		}
		if f.src.is(i, "REFERENCES") {
			return true
		}
		if adds && (f.src.is(i, "CHECK") || f.src.is(i, "UNIQUE") || f.src.is(i, "GENERATED") || f.src.is(i, "AS")) {
			return true
		}
	}
	return false
}

// replacedTable returns the table that CREATE OR REPLACE TABLE drops, which no
// parser reads (MariaDB); nil for any other statement.
func (f *definitions) replacedTable() []ast.Ident {
	if !f.d.Traits().Compound || !f.src.is(0, "CREATE") || !f.src.is(1, "OR") || !f.src.is(2, "REPLACE") || !f.src.is(3, "TABLE") {
		return nil
	}
	var name []ast.Ident
	for i := 4; i < len(f.src.tokens); i += 2 {
		t := f.src.tokens[i]
		written := f.src.sql[t.Start:t.End]
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
		if !f.src.is(i+1, ".") {
			break
		}
	}
	return name
}

// planReplaced plans CREATE OR REPLACE TABLE: as DROP TABLE, and then as a CREATE
// that may read any counter table that it names, the one that it drops included.
func (f *definitions) planReplaced(name []ast.Ident) *Plan {
	plan := f.drains.drainAll(f.mentions.tables(), "the statement drops a counter table")
	if t := f.names.LookupCounter(name); t != nil {
		for _, s := range f.d.DropSlots(t) {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	return plan
}

// planTruncate empties the slots as well: the slot table's foreign key would
// otherwise forbid what the plain driver allows. By is the name by which the statement has a
// table, where that is another one's.
func (f *definitions) planTruncate(tables, held []*schema.Table, by map[*schema.Table]string) *Plan {
	plan := f.drains.drainAll(tables, "TRUNCATE empties the slots as well")
	plan.Drain.FoldOptional = true
	var edits []edit
	for _, t := range append(tables, held...) {
		if t.Counter.SlotTable.Unfit != "" || t.Counter.SlotTable.Release != nil {
			drop := t.Counter.SlotTable.Release
			if drop == nil {
				drop = f.d.DropSlots(t)
			}
			for _, s := range drop {
				plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
			}
			continue
		}
		also, before, after := f.d.Truncate(t)
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
		for i, tok := range f.src.tokens {
			// A schema may be called like its table.
			if (tok.Kind == lex.Word || tok.Kind == lex.QuotedIdent) && f.mentions.tokenNames(tok, name) && !f.src.is(i+1, ".") {
				edits = append(edits, edit{ast.At(tok.End), also})
				break
			}
		}
	}
	if len(edits) > 0 {
		plan.SQL = f.src.apply(edits)
	}
	return plan
}

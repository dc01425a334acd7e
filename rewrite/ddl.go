package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// planDDL plans statements that change tables as such.
func (p *planning) planDDL(st *ast.Statement) *Plan {
	if referred := p.referred(); len(referred) > 0 {
		return p.drainAll(referred, "a foreign key that the statement creates refers to a counter")
	}
	var tables, held []*Table
	for _, n := range st.Tables {
		if t := p.lookupCounter(n); t != nil {
			if !has(tables, t) {
				tables = append(tables, t)
			}
		} else if t := p.lookupAmong(p.holders(), n); t != nil && (!t.Counter.SlotTable.Holding || st.Kind == ast.KindDrop) {
			held = append(held, t)
		}
	}
	if len(tables) == 0 && (len(held) == 0 || st.Kind != ast.KindTruncate && st.Kind != ast.KindDrop) {
		return &Plan{Class: PassThrough}
	}
	switch {
	case st.Kind == ast.KindTruncate:
		return p.planTruncate(tables, held, nil)
	case st.Kind == ast.KindDrop:
		return p.planDrop(tables, held)
	case p.src.is(0, "ALTER") || p.src.is(0, "RENAME"):
		plan := p.drainAll(tables, "the statement changes a counter table's definition")
		plan.Drain.FoldOptional = !p.needsTotals()
		plan.Drain.OutsideTx = p.src.hasWord("CONCURRENTLY")
		return plan
	case p.watchesUpdates():
		plan := p.planWatcher(tables)
		plan.Drain.FoldOptional = !p.needsTotals()
		return plan
	case p.src.is(0, "LOCK"):
		return p.drainAll(tables, "the statement locks a counter table")
	case p.extends():
		// As ALTER TABLE ... INHERIT and ATTACH PARTITION do.
		return p.drainAll(tables, "the statement changes a counter table's definition")
	}
	return &Plan{Class: PassThrough}
}

// planDrop plans DROP TABLE, by whichever table's name: the slot tables go as well.
func (p *planning) planDrop(tables, held []*Table) *Plan {
	plan := p.drainAll(tables, "the statement drops a counter table")
	for _, t := range append(tables, held...) {
		drop := t.Counter.SlotTable.Release
		if drop == nil {
			drop = p.d.DropSlots(t)
		}
		for _, s := range drop {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	plan.Drain.FoldOptional = true
	return plan
}

// planWatcher plans what creates such a definition, or a statement that begins with one.
func (p *planning) planWatcher(tables []*Table) *Plan {
	plan := p.drainAll(tables, "what the statement creates applies to every UPDATE of the table, including later folds")
	plan.Drain.OutsideTx = p.src.hasWord("CONCURRENTLY")
	return plan
}

// extends reports whether the statement creates a table that inherits from others, or is a
// partition of one: what holds for the rows of these changes with it.
func (p *planning) extends() bool {
	if !p.src.is(0, "CREATE") {
		return false
	}
	for i := range p.src.tokens {
		if p.src.is(i, "INHERITS") || p.src.is(i, "PARTITION") && p.src.is(i+1, "OF") {
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
func (p *planning) watchesUpdates() bool {
	if !p.src.is(0, "CREATE") {
		return false
	}
	const before = 10 // words and signs: OR REPLACE DEFINER = 'user' @ 'host'
	for i := 1; i < len(p.src.tokens) && i < before; i++ {
		switch {
		case p.src.is(i, "UNIQUE"), p.src.is(i, "POLICY"):
			return true
		case p.src.is(i, "TRIGGER"), p.src.is(i, "RULE"):
			return p.src.hasWord("UPDATE")
		case p.src.is(i, "TABLE"), p.src.is(i, "INDEX"), p.src.is(i, "VIEW"),
			p.src.is(i, "FUNCTION"), p.src.is(i, "PROCEDURE"), p.src.is(i, "EVENT"):
			return false
		}
	}
	return false
}

// needsTotals reports whether a change of a table's definition means something else
// on base values than on totals: it computes new values, has rows judged by them, or
// gives a name away that slots go by. Any other one leaves base values and slots as
// they are.
func (p *planning) needsTotals() bool {
	if p.src.is(0, "CREATE") {
		return p.src.is(1, "UNIQUE")
	}
	adds := false
	for i := range p.src.tokens {
		adds = adds || p.src.is(i, "ADD")
		for _, word := range []string{"RENAME", "CHANGE", "USING", "EXCHANGE", "PARTITION"} {
			if p.src.is(i, word) {
				return true
			}
		}
		if p.src.is(i, "REFERENCES") {
			return true
		}
		if adds && (p.src.is(i, "CHECK") || p.src.is(i, "UNIQUE") || p.src.is(i, "GENERATED") || p.src.is(i, "AS")) {
			return true
		}
	}
	return false
}

// replacedTable returns the table that CREATE OR REPLACE TABLE drops, which no
// parser reads (MariaDB); nil for any other statement.
func (p *planning) replacedTable() []ast.Ident {
	if !p.d.Traits().Compound || !p.src.is(0, "CREATE") || !p.src.is(1, "OR") || !p.src.is(2, "REPLACE") || !p.src.is(3, "TABLE") {
		return nil
	}
	var name []ast.Ident
	for i := 4; i < len(p.src.tokens); i += 2 {
		t := p.src.tokens[i]
		written := p.src.sql[t.Start:t.End]
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
		if !p.src.is(i+1, ".") {
			break
		}
	}
	return name
}

// planReplaced plans CREATE OR REPLACE TABLE: as DROP TABLE, and then as a CREATE
// that may read any counter table that it names, the one that it drops included.
func (p *planning) planReplaced(name []ast.Ident) *Plan {
	plan := p.drainAll(p.mentioned(), "the statement drops a counter table")
	if t := p.lookupCounter(name); t != nil {
		for _, s := range p.d.DropSlots(t) {
			plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
		}
	}
	return plan
}

// planTruncate empties the slots as well: the slot table's foreign key would
// otherwise forbid what the plain driver allows. By is the name by which the statement has a
// table, where that is another one's.
func (p *planning) planTruncate(tables, held []*Table, by map[*Table]string) *Plan {
	plan := p.drainAll(tables, "TRUNCATE empties the slots as well")
	plan.Drain.FoldOptional = true
	var edits []edit
	for _, t := range append(tables, held...) {
		if t.Counter.SlotTable.Unfit != "" || t.Counter.SlotTable.Release != nil {
			drop := t.Counter.SlotTable.Release
			if drop == nil {
				drop = p.d.DropSlots(t)
			}
			for _, s := range drop {
				plan.Drain.Before = append(plan.Drain.Before, Bound{SQL: Whole(s)})
			}
			continue
		}
		also, before, after := p.d.Truncate(t)
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
		for i, tok := range p.src.tokens {
			// A schema may be called like its table.
			if (tok.Kind == lex.Word || tok.Kind == lex.QuotedIdent) && p.tokenNames(tok, name) && !p.src.is(i+1, ".") {
				edits = append(edits, edit{ast.At(tok.End), also})
				break
			}
		}
	}
	if len(edits) > 0 {
		plan.SQL = p.src.apply(edits)
	}
	return plan
}

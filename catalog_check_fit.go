package slotsql

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// A table may change under its slot table. What slots hold then still counts, as
// sums of exact numbers under keys that are there; but nothing may be added to
// slots that cannot take it, or under a key that they cannot have.

// misfit is a respect in which a slot table is not any more what slotsql would
// create for its base table, and which Migrate puts right.
type misfit struct {
	counter string // of which; "" for all
	why     string
}

// misfits holds the columns, the foreign key and the triggers of a slot table
// against its base table.
func (s *catalog) misfits(t, slots *rewrite.Table) (out []misfit) {
	c := t.Counter
	if c.Shared != nil {
		return nil // checkSharedTable says it
	}
	for _, name := range c.Key {
		have, _ := findColumn(slots, name)
		if base := t.Column(name); have != nil && base != nil && !keyFits(base, have) {
			out = append(out, misfit{"", fmt.Sprintf("key column %s of slot table %s has type %s, but %s in the table", clip(name), clip(c.SlotTable), typeName(have), typeName(base))})
		}
	}
	if p := s.strays(t, slots); p != nil {
		out = append(out, misfit{"", fmt.Sprintf("the foreign key of slot table %s refers to table %s", clip(c.SlotTable), clip(p.Name))})
	}
	if k, ok := s.dialect.(dialect.TriggerKeeper); ok && len(k.MissingTriggers(t)) > 0 {
		out = append(out, misfit{"", fmt.Sprintf("triggers that keep slot table %s in step are missing", clip(c.SlotTable))})
	}
	for _, name := range c.Counters {
		have, _ := findColumn(slots, name)
		if base := t.Column(name); have != nil && base != nil && !counterFits(base, have) {
			out = append(out, misfit{name, fmt.Sprintf("column %s of slot table %s has type %s, which cannot hold counts of type %s", clip(name), clip(c.SlotTable), typeName(have), typeName(base))})
		}
	}
	return out
}

// noteMisfits has counters of a slot table that does not fit not slotted.
func (s *catalog) noteMisfits(t, slots *rewrite.Table) {
	for _, m := range s.misfits(t, slots) {
		columns := []string{m.counter}
		if m.counter == "" {
			columns = t.Counter.Counters
		}
		for _, name := range columns {
			t.Counter.Fault(name, m.why+": run `"+migrateCommand+"`")
		}
	}
}

// checkFit reports the misfits of a slot table.
func (s *catalog) checkFit(t, slots *rewrite.Table) (problems []Problem) {
	for _, m := range s.misfits(t, slots) {
		problems = append(problems, Problem{Message: fmt.Sprintf("table %s: %s: run `%s` to fix it; until then its counters are not slotted", clip(t.Name), m.why, migrateCommand)})
	}
	return problems
}

// keyFits reports whether a slot table's column takes every value of the key
// column, compared by the same rules.
func keyFits(key, have *rewrite.Column) bool {
	return key.Type == have.Type || idFault(key, have) == ""
}

// counterFits reports whether a slot table's column takes sums of increments of a
// counter without rounding them.
func counterFits(base, have *rewrite.Column) bool {
	switch {
	case base.Numeric == rewrite.Integer:
		return have.Numeric == rewrite.Decimal || have.Numeric == rewrite.Integer && have.Bits >= base.Bits && !have.Unsigned
	case base.Numeric != rewrite.Decimal || have.Numeric == rewrite.Decimal && have.Precision == 0:
		return true
	case base.Precision == 0 || have.Numeric != rewrite.Decimal:
		return false
	}
	return have.Scale >= base.Scale && have.Precision-have.Scale >= base.Precision-base.Scale
}

// strays returns a foreign key of the slot table's key that refers to another
// table than t: one that t has taken the name of.
func (s *catalog) strays(t, slots *rewrite.Table) *rewrite.Parent {
	for i := range slots.Parents {
		p := &slots.Parents[i]
		if s.ties(t, p) || !sameFold(p.Columns, t.Counter.Key) {
			continue
		}
		if !s.named(p, t) {
			return p
		}
	}
	return nil
}

// named reports whether a foreign key refers to t, by whatever columns.
func (s *catalog) named(p *rewrite.Parent, t *rewrite.Table) bool {
	same := func(written, stored string) bool {
		return s.dialect.SameTable(rewrite.Ident{Name: written, Quoted: true}, stored)
	}
	return same(p.Name, t.Name) && same(p.Schema, t.Schema)
}

// outgrown leaves out of a slot table's facts the columns that its base table has
// none of: what they hold counts for nothing.
func outgrown(t, slots *rewrite.Table) *rewrite.Table {
	if t.Counter.Shared != nil || slots == nil {
		return slots
	}
	other := *slots
	known := slotColumns(t.Counter)
	other.Columns = slices.DeleteFunc(slices.Clone(slots.Columns), func(c rewrite.Column) bool {
		return t.Column(c.Name) == nil && !slices.Contains(known, c.Name)
	})
	return &other
}

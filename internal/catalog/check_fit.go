package catalog

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A base table may change under its slot table. What the slots hold then still counts, as sums of
// exact numbers under existing keys; but nothing may be added to slots that cannot take it, or
// under a key that they cannot have.

// Misfit is a difference between a slot table and the one that slotsql would create for its base
// table. Migrate removes it.
type Misfit struct {
	Counter string // of which; "" for all
	Why     string
}

// Misfits checks the columns, the foreign key and the triggers of a slot table against its base
// table.
func (c *Catalog) Misfits(t, slots *schema.Table) (out []Misfit) {
	counter := t.Counter
	if counter.Layout == schema.LayoutShared {
		return nil // checkSharedTable says it
	}
	for _, name := range counter.Key {
		have, _ := FindColumn(slots, name)
		if base := t.Column(name); have != nil && base != nil && !keyFits(base, have) {
			out = append(
				out,
				Misfit{
					"",
					fmt.Sprintf(
						"key column %s of slot table %s has type %s, but %s in the table",
						config.Clip(name),
						config.Clip(counter.SlotTable.Name),
						typeName(have),
						typeName(base),
					),
				},
			)
		}
	}
	if p := c.strayForeignKey(t, slots); p != nil {
		out = append(
			out,
			Misfit{"", fmt.Sprintf("the foreign key of slot table %s refers to table %s", config.Clip(counter.SlotTable.Name), config.Clip(p.Name))},
		)
	}
	if k, ok := c.Dialect.(dialect.TriggerKeeper); ok && len(k.MissingTriggers(t)) > 0 {
		out = append(out, Misfit{"", fmt.Sprintf("triggers that keep slot table %s in step are missing", config.Clip(counter.SlotTable.Name))})
	}
	for _, name := range counter.Counters {
		have, _ := FindColumn(slots, name)
		if base := t.Column(name); have != nil && base != nil && !counterFits(base, have) {
			out = append(
				out,
				Misfit{
					name,
					fmt.Sprintf(
						"column %s of slot table %s has type %s, which cannot hold counts of type %s",
						config.Clip(name),
						config.Clip(counter.SlotTable.Name),
						typeName(have),
						typeName(base),
					),
				},
			)
		}
	}
	return out
}

// noteMisfits makes counters that do not fit their slot table unslotted.
func (c *Catalog) noteMisfits(t, slots *schema.Table) {
	for _, m := range c.Misfits(t, slots) {
		columns := []string{m.Counter}
		if m.Counter == "" {
			columns = t.Counter.Counters
		}
		for _, name := range columns {
			t.Counter.Unslotted.Fault(name, m.Why+": run `"+MigrateCommand+"`")
		}
	}
}

// CheckFit reports the misfits of a slot table.
func (c *Catalog) CheckFit(t, slots *schema.Table) (problems []config.Problem) {
	for _, m := range c.Misfits(t, slots) {
		problems = append(
			problems,
			config.Problem{
				Message: fmt.Sprintf(
					"table %s: %s: run `%s` to fix it; until then its counters are not slotted",
					config.Clip(t.Name),
					m.Why,
					MigrateCommand,
				),
			},
		)
	}
	return problems
}

// keyFits reports whether a slot table's column takes every value of the key column, and compares
// them by the same rules.
func keyFits(key, have *schema.Column) bool {
	return key.Type == have.Type || idFault(key, have) == ""
}

// counterFits reports whether a slot table's column takes sums of increments of a counter without
// rounding them.
func counterFits(base, have *schema.Column) bool {
	switch {
	case base.Numeric == schema.Integer:
		return have.Numeric == schema.Decimal || have.Numeric == schema.Integer && have.Bits >= base.Bits && !have.Unsigned
	case base.Numeric != schema.Decimal || have.Numeric == schema.Decimal && have.Precision == 0:
		return true
	case base.Precision == 0 || have.Numeric != schema.Decimal:
		return false
	}
	return have.Scale >= base.Scale && have.Precision-have.Scale >= base.Precision-base.Scale
}

// strayForeignKey returns a foreign key of the slot table's key that refers to another table than
// t, whose name t has taken over; nil for none.
func (c *Catalog) strayForeignKey(t, slots *schema.Table) *schema.Parent {
	for i := range slots.ForeignKeys.Parents {
		p := &slots.ForeignKeys.Parents[i]
		if c.ties(t, p) || !sameFold(p.Columns, t.Counter.Key) {
			continue
		}
		if !c.refersTo(p, t) {
			return p
		}
	}
	return nil
}

// refersTo reports whether a foreign key refers to t, by whatever columns.
func (c *Catalog) refersTo(p *schema.Parent, t *schema.Table) bool {
	same := func(written, stored string) bool {
		return c.Dialect.SameTable(ast.Ident{Name: written, Quoted: true}, stored)
	}
	return same(p.Name, t.Name) && same(p.Schema, t.Schema)
}

// WithoutOutgrown returns the facts of a slot table without the columns that its base table no
// longer has: what they hold counts for nothing.
func WithoutOutgrown(t, slots *schema.Table) *schema.Table {
	if t.Counter.Layout == schema.LayoutShared || slots == nil {
		return slots
	}
	other := *slots
	known := SlotColumns(t.Counter)
	other.Columns = slices.DeleteFunc(slices.Clone(slots.Columns), func(c schema.Column) bool {
		return t.Column(c.Name) == nil && !slices.Contains(known, c.Name)
	})
	return &other
}

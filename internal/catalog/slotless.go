package catalog

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A table with slots: 0 has no slot table, and nothing is added up for it: to the planner it is an
// ordinary table, and increments of it that overlap share a statement (rewrite.GroupCatalog).
//
// Unless it has a slot table all the same: one left over from a configuration with slots, or used
// by other processes. Then all counters of the table are passive, as with mode: passive: totals
// include what slots hold, drains and roll-ups move it, and this process puts nothing into them.
// That is exact beside any other process, for the reasons in passive.go. A slot table that is
// created or dropped is noticed like any other change of a definition (watch.go): by its name, for
// which a mark is kept even while it means nothing. Once it has been dropped no process can count
// in slots, so base values are the totals from then on.

// engineSlots returns the number of slots of tables for which the configuration gives none.
func engineSlots(traits rewrite.Traits) int {
	if traits.OneWriter {
		return 0 // an increment in a slot would wait for the others as one on the base row does
	}
	return config.DefaultSlots
}

// HasSlots reports whether any of the configured tables is to have slots.
func (c *Catalog) HasSlots() bool {
	return slices.ContainsFunc(c.Tables, func(t config.TableConfig) bool { return t.Slots > 0 })
}

// isLeftOver reports whether the slot table of a table, nil for none, has to be considered. If the
// table is to have no slots, that is a slot table that slotsql has created for it; the counters
// are then made passive.
func isLeftOver(t, slots *schema.Table) bool {
	if t.Counter.Slots > 0 {
		return true
	}
	if slots == nil || !madeFor(t, slots) {
		return false
	}
	t.Counter.Slots = config.MaxSlots // the programs that have filled them may have had so many
	t.Counter.Counters = slices.DeleteFunc(t.Counter.Counters, func(name string) bool {
		col, _ := FindColumn(slots, name) // no process can have counted it there
		return col == nil
	})
	allPassive(t)
	return true
}

// madeFor reports whether a table is a slot table of t, judged by what another program's table
// would not have: a primary key of t's key and a slot.
func madeFor(t, slots *schema.Table) bool {
	if slots.IsView || slots.Temporary {
		return false
	}
	number, _ := FindColumn(slots, t.Counter.SlotTable.Column)
	primary := slices.Concat(t.Counter.Key, []string{t.Counter.SlotTable.Column})
	return number != nil && number.Numeric == schema.Integer &&
		slices.ContainsFunc(slots.Uniques, func(u schema.Unique) bool { return u.Primary && sameFold(u.Columns, primary) })
}

// findLeftOver looks for the slot tables of tables that are to have no slots.
func findLeftOver(checked []CheckedTable, look func(schema, name string) (*schema.Table, error)) error {
	for _, c := range checked {
		if c.Table.Counter.Slots > 0 {
			continue
		}
		slots, err := look(c.Table.Counter.SlotTable.Schema, c.Table.Counter.SlotTable.Name)
		if err != nil {
			return err
		}
		isLeftOver(c.Table, slots)
	}
	return nil
}

// withoutSlots takes the tables without slots and slot table into the schema, and returns the
// others.
func (sc *Schema) withoutSlots(
	ctx context.Context,
	v *View,
	checked []CheckedTable,
	strict bool,
) (others []CheckedTable, problems []config.Problem, err error) {
	if err := findLeftOver(checked, v.Look(ctx)); err != nil {
		return nil, nil, err
	}
	for _, c := range checked {
		if c.Table.Counter.Slots > 0 {
			others = append(others, c)
			continue
		}
		if strict && config.Demanded(c.Config) {
			more, err := v.CheckSlotless(ctx, c)
			if err != nil {
				return nil, nil, err
			}
			problems = append(problems, more...)
		}
		tellDoubt(ctx, sc.Catalog, c.Table)
		sc.adopt(c.Table)
		sc.know(c)
	}
	return others, problems, nil
}

// CheckSlotless checks the configuration of a table without slots against the database.
func (v *View) CheckSlotless(ctx context.Context, c CheckedTable) (problems []config.Problem, err error) {
	if c.Table.Counter.Single() {
		if problems, err = v.Catalog.CheckRows(ctx, v, c); err != nil {
			return nil, err
		}
	}
	if len(c.Config.Views) > 0 {
		more, _, err := v.Catalog.CheckViews(ctx, v, c)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	return problems, nil
}

// group notes that increments of t, none of whose counters is slotted, may share statements on the
// base row.
func (sc *Schema) group(t *schema.Table, counters []string) {
	grouped := Grouped(t, counters)
	if grouped == nil {
		return
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.Unslotted.grouped = append(sc.Unslotted.grouped, grouped)
}

// Grouped returns t as groups see it where none of its counters is slotted; nil where no
// counter can be added to for several executions at once, and no column is touched or a version.
func Grouped(t *schema.Table, counters []string) *schema.Table {
	grouped, counter := *t, *t.Counter
	counter.Counters = slices.DeleteFunc(slices.Clone(counters), func(name string) bool { return !groupable(t, name) })
	if len(counter.Counters)+len(counter.Touch)+len(counter.Versions) == 0 {
		return nil
	}
	counter.Counted, counter.Unslotted.Passive = counter.Counters, counter.Counters
	counter.Unslotted.Retired, counter.Companions = nil, nil
	grouped.Counter = &counter
	return &grouped
}

// groupable reports whether one statement may add to a column what several executions add: the sum
// is exact, and no intermediate value can fail by itself.
func groupable(t *schema.Table, column string) bool {
	c := t.Column(column)
	return c != nil && Summable(c) && !c.Generated && !c.Identity && t.Storage.NoTransactions == ""
}

// Grouped implements rewrite.GroupCatalog.
func (sc *Schema) Grouped() []*schema.Table {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.Unslotted.grouped
}

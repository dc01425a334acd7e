package catalog

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A slot table may have the column of a counter that this process's configuration does not name:
// the counter is being added to the table, or removed from it, while processes with either
// configuration run. To a process that does not name it the counter is passive: totals include
// what others count in slots, drains and roll-ups move that, and its own increments run on the
// base row. So it does not matter when which process gets which configuration, as long as all of
// them know the column. docs/design/catalog.md says what a process that does not may do wrong.
//
// With mode: passive all counters of a table are passive. While processes change the mode one
// after another, the passive ones see what those with mode on count, and set counters as they do.
// The same holds if the session's user cannot see whether a table's counters may be slotted: a
// process of another user may see that, and count them in slots.

// learnPassive adds the passive counters of t, a table with its Counter set. A nullable column
// belongs to a companion, whose values do not add up.
func learnPassive(t, slots *schema.Table) {
	c := t.Counter
	if slots == nil || c.Layout == schema.LayoutShared {
		return
	}
	for i := range slots.Columns {
		col := &slots.Columns[i]
		base := t.Column(col.Name)
		if strings.EqualFold(col.Name, c.SlotTable.Column) {
			continue // the slot's number, though the table has an ordinary column of that name
		}
		if base == nil || col.Generated || col.Nullable || !Summable(col) || !Summable(base) || t.IsKey(col.Name) || t.IsCounter(col.Name) ||
			t.Companion(col.Name) != nil {
			continue
		}
		if why, _ := counterFault(t, base, c.Key); why == "" {
			t.AddPassive(col.Name)
		}
	}
}

// makePassive makes all counters of a table passive that would be slotted, if its mode
// says so or the session's user cannot see enough of the table.
func makePassive(cfg *config.TableConfig, t *schema.Table) {
	if t.Counter.Slots > 0 && (cfg.Mode == config.ModePassive || schema.Doubt(t) != "") {
		allPassive(t)
	}
}

func allPassive(t *schema.Table) {
	for _, c := range t.Counter.Counters {
		if _, why := t.Slottable(c); why == schema.Doubt(t) {
			t.Counter.Unslotted.Passive = append(t.Counter.Unslotted.Passive, c)
		}
	}
}

// Summable reports whether values of a column add up exactly.
func Summable(c *schema.Column) bool {
	return c.Numeric == schema.Integer || c.Numeric == schema.Decimal
}

// Lacking returns the counters for which a slot table has no column, if nothing else is wrong with
// it.
func Lacking(t, slot *schema.Table) []string {
	if t.Counter.Layout == schema.LayoutShared {
		return nil
	}
	other, counter := *t, *t.Counter
	other.Counter = &counter
	if counter.Layout == schema.LayoutJournal {
		counter.Layout = schema.LayoutDedicated // see OnlyTooNarrow
	}
	counter.Counters = slices.DeleteFunc(slices.Clone(counter.Counters), func(name string) bool {
		col, _ := FindColumn(slot, name)
		return col == nil && t.Column(name).Numeric != schema.Float
	})
	if len(counter.Counters) == len(t.Counter.Counters) || len(CheckSlotTable(&other, WithoutOutgrown(&other, slot))) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Counter.Counters), func(name string) bool { return slices.Contains(counter.Counters, name) })
}

// PassiveReason returns why increments of a passive counter run on the base row.
func PassiveReason(cfg *config.TableConfig, t *schema.Table) string {
	slotTable := t.Counter.SlotTable.Name
	if cfg.Mode == config.ModePassive {
		return "the table has mode passive: its totals include what other processes count in slots, and its increments run on the base row"
	}
	if cfg.Slots == 0 {
		return "slots is 0, and slot table " + config.Clip(slotTable) +
			" is there: its totals include what that holds, and its increments run on the base row"
	}
	if why := schema.Doubt(t); why != "" {
		return why
	}
	return "slot table " + config.Clip(
		slotTable,
	) + " has it, but the configuration does not name it: its totals include what other processes count there, and its increments run on the base row"
}

// Added names the columns that Migrate has added.
func Added(slotTable string, counters []string) string {
	return slotTable + " (column " + strings.Join(counters, ", ") + " added)"
}

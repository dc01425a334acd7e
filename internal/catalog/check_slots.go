package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

// This file names slot tables and holds the ones that exist against what their
// base tables need.

// MigrateCommand is the command that messages tell to run.
const MigrateCommand = "slotsql migrate --driver DRIVER --dsn DSN --config FILE"

// CheckSlotTable holds the slot table that the database has, nil for none,
// against what t, a base table with its Counter set, needs. The problems have
// no place in a file; TableConfig.locate gives them the table's.
//
//nolint:funlen // a list of checks, in the order of what they report
func CheckSlotTable(t, slot *rewrite.Table) (problems []config.Problem) {
	c := t.Counter
	report := func(format string, args ...any) {
		problems = append(problems, config.Problem{
			Message: fmt.Sprintf("table %s: slot table %s ", config.Clip(t.Name), config.Clip(c.SlotTable.Name)) + fmt.Sprintf(format, args...),
		})
	}
	switch {
	case slot == nil:
		report("is missing: run `%s`, or set auto_migrate: true", MigrateCommand)
		return problems
	case slot.IsView || slot.Temporary:
		report("is a view or a temporary table: choose another name with slot_table")
		return problems
	}
	const repair = "drain the table, drop its slot table and run `" + MigrateCommand + "`"
	counters := len(c.Key) + 1 + len(c.Counters)
	wanted := SlotColumns(c)
	primary := slices.Concat(c.Key, []string{c.SlotTable.Column})
	known := map[string]bool{}
	missing := false
	for i, name := range wanted {
		col, _ := FindColumn(slot, name)
		if col == nil {
			if base := t.Column(name); i > len(c.Key) && i < counters && base != nil && base.Numeric == rewrite.Float {
				continue // never slotted, so it need not be there
			}
			missing = true
			if i > len(c.Key) && i < counters {
				report(
					"has no column %s: run `%s` to add it (docs/operations.md has the steps before and after)",
					config.Clip(name),
					MigrateCommand,
				)
			} else {
				report("has no column %s: %s; if another program owns it, choose another name with slot_table", config.Clip(name), repair)
			}
			continue
		}
		known[col.Name] = true
		switch {
		case i < len(c.Key) && otherKind(t.Column(name), col):
			report("has a key column %s of type %s, not %s: %s", config.Clip(col.Name), typeName(col), typeName(t.Column(name)), repair)
		case i == len(c.Key) && col.Numeric != rewrite.Integer:
			report("has a slot column %s of type %s, which is not an integer: %s", config.Clip(col.Name), typeName(col), repair)
		case i == len(c.Key) && c.Layout == rewrite.LayoutJournal && col.Bits < 64:
			report(
				"has a slot column %s of type %s, too narrow for a journal: run `%s`, which widens it",
				config.Clip(col.Name),
				typeName(col),
				MigrateCommand,
			)
		case i > len(c.Key) && i < counters && col.Numeric == rewrite.NotNumeric:
			report("has a column %s of type %s, which cannot be summed: %s", config.Clip(col.Name), typeName(col), repair)
		case col.Generated:
			report("has a generated column %s: %s", config.Clip(col.Name), repair)
		}
	}
	for i := range slot.Columns {
		// A counter that left the configuration may still have counts there.
		if name := slot.Columns[i].Name; !known[name] {
			report(
				"has a column %s that is neither a configured counter nor a companion and may hold counts: configure it, or %s",
				config.Clip(name),
				repair,
			)
		}
	}
	if missing {
		return problems // the primary key cannot be right either
	}
	hasPrimary := false
	for _, u := range slot.Uniques {
		same := sameFold(u.Columns, primary)
		hasPrimary = hasPrimary || u.Primary && same
		switch {
		case u.Primary && !same:
			report("has the primary key [%s], which must be [%s]: %s", strings.Join(u.Columns, ", "), strings.Join(primary, ", "), repair)
			hasPrimary = true
		case !u.Primary && !same:
			report(
				"has a further unique key %s [%s], which allows a row only one slot: drop it",
				config.Clip(u.Name),
				strings.Join(u.Columns, ", "),
			)
		}
	}
	if !hasPrimary {
		report("has no primary key, which must be [%s]: %s", strings.Join(primary, ", "), repair)
	}
	return problems
}

// otherKind reports whether one of two key columns is a number and the other is not: an engine
// may not compare them, so that slots find no row.
func otherKind(base, slot *rewrite.Column) bool {
	return base != nil && (base.Numeric == rewrite.NotNumeric) != (slot.Numeric == rewrite.NotNumeric)
}

// Narrow reports whether a slot table lacks nothing but the type of its numbers, which
// a journal needs wider.
func Narrow(t, slot *rewrite.Table) bool {
	if col, _ := FindColumn(
		slot,
		t.Counter.SlotTable.Column,
	); t.Counter.Layout != rewrite.LayoutJournal || col == nil || col.Numeric != rewrite.Integer ||
		col.Bits >= 64 {
		return false
	}
	other, counter := *t, *t.Counter
	counter.Layout, other.Counter = rewrite.LayoutDedicated, &counter
	return len(CheckSlotTable(&other, slot)) == 0
}

func sameFold(a, b []string) bool {
	lower := func(s []string) []string {
		out := make([]string, len(s))
		for i := range s {
			out[i] = strings.ToLower(s[i])
		}
		return out
	}
	return sameSet(lower(a), lower(b))
}

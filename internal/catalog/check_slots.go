package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file checks existing slot tables against what their base tables need.

// MigrateCommand is the command that error messages tell the reader to run.
const MigrateCommand = "slotsql migrate --driver DRIVER --dsn DSN --config FILE"

// OrAutoMigrate is what they name beside that command where the driver itself can create what is missing.
const OrAutoMigrate = "or set auto_migrate: true"

const repairSlotTable = "drain the table, drop its slot table and run `" + MigrateCommand + "`"

// CheckSlotTable checks the slot table that the database has, nil for none, against what t, a
// base table with its Counter set, needs. The problems have no place in a file;
// TableConfig.Locate gives them the table's.
func CheckSlotTable(t, slot *schema.Table) (problems []config.Problem) {
	k := slotTableCheck{table: t, slot: slot, kind: "slot table"}
	switch {
	case slot == nil:
		k.report("is missing: run `%s`, %s", MigrateCommand, OrAutoMigrate)
	case slot.IsView || slot.Temporary:
		k.report("is a view or a temporary table: choose another name with slot_table")
	default:
		if k.logged("run ALTER TABLE %s SET %s"); k.columns() {
			k.uniqueKeys()
		}
	}
	return k.problems
}

// logged checks that a crash of the server empties both tables or none.
func (k *slotTableCheck) logged(what string) {
	if k.slot.Storage.Unlogged == k.table.Storage.Unlogged {
		return
	}
	is, as := "UNLOGGED and its table is not: a crash would lose what it holds", "LOGGED"
	if k.table.Storage.Unlogged {
		is, as = "not UNLOGGED as its table is: a crash would leave counts of rows that are gone", "UNLOGGED"
	}
	k.report("is "+is+"; "+what, config.Clip(k.slot.Name), as)
}

// slotTableCheck collects what is wrong with a slot table.
type slotTableCheck struct {
	table, slot *schema.Table
	kind        string
	problems    []config.Problem
}

func (k *slotTableCheck) report(format string, args ...any) {
	k.problems = append(k.problems, config.Problem{
		Message: fmt.Sprintf("table %s: %s %s ", config.Clip(k.table.Name), k.kind, config.Clip(k.table.Counter.SlotTable.Name)) +
			fmt.Sprintf(format, args...),
	})
}

// columns checks the columns, and reports whether those that are needed are there.
func (k *slotTableCheck) columns() (complete bool) {
	known := map[string]bool{}
	complete = true
	for i, name := range SlotColumns(k.table.Counter) {
		role := roleOf(k.table.Counter, i)
		if col, _ := FindColumn(k.slot, name); col != nil {
			known[col.Name] = true
			k.column(role, k.table.Column(name), col)
		} else if base := k.table.Column(name); role != counterColumn || base == nil || base.Numeric != schema.Float {
			complete = false
			k.missingColumn(role, name)
		} // else it is never slotted, so it need not be there
	}
	for i := range k.slot.Columns {
		// A counter that left the configuration may still have counts there.
		if name := k.slot.Columns[i].Name; !known[name] {
			k.report("has a column %s that is neither a configured counter nor a companion and may hold counts: configure it, or %s",
				config.Clip(name), repairSlotTable)
		}
	}
	return complete
}

// columnRole is what a column of a slot table is for.
type columnRole int

const (
	keyColumn columnRole = iota
	numberColumn
	counterColumn
	companionColumn
)

// roleOf returns the role of a column by its index in SlotColumns.
func roleOf(c *schema.Counter, i int) columnRole {
	switch n := len(c.Key); {
	case i < n:
		return keyColumn
	case i == n:
		return numberColumn
	case i <= n+len(c.Counters):
		return counterColumn
	}
	return companionColumn
}

func (k *slotTableCheck) missingColumn(role columnRole, name string) {
	if role == counterColumn {
		k.report("has no column %s: run `%s` to add it (docs/operations.md has the steps before and after)",
			config.Clip(name), MigrateCommand)
		return
	}
	k.report("has no column %s: %s; if another program owns it, choose another name with slot_table",
		config.Clip(name), repairSlotTable)
}

// column checks one column; base is that of the base table, nil for none.
func (k *slotTableCheck) column(role columnRole, base, col *schema.Column) {
	name := config.Clip(col.Name)
	switch {
	case role == keyColumn && otherKind(base, col):
		k.report("has a key column %s of type %s, not %s: %s", name, typeName(col), typeName(base), repairSlotTable)
	case role == numberColumn && col.Numeric != schema.Integer:
		k.report("has a slot column %s of type %s, which is not an integer: %s", name, typeName(col), repairSlotTable)
	case role == numberColumn && k.table.Counter.Layout == schema.LayoutJournal && col.Bits < 64:
		k.report("has a slot column %s of type %s, too narrow for a journal: run `%s`, which widens it", name, typeName(col), MigrateCommand)
	case role == counterColumn && col.Numeric == schema.NotNumeric:
		k.report("has a column %s of type %s, which cannot be summed: %s", name, typeName(col), repairSlotTable)
	case col.Generated:
		k.report("has a generated column %s: %s", name, repairSlotTable)
	}
}

// uniqueKeys checks that the primary key is that of the slots, and that no other unique key
// limits how many slots a row may have.
func (k *slotTableCheck) uniqueKeys() {
	primary := slices.Concat(k.table.Counter.Key, []string{k.table.Counter.SlotTable.Column})
	list := strings.Join(primary, ", ")
	hasPrimary := false
	for _, u := range k.slot.Uniques {
		hasPrimary = hasPrimary || u.Primary
		switch columns := strings.Join(u.Columns, ", "); {
		case sameFold(u.Columns, primary):
		case u.Primary:
			k.report("has the primary key [%s], which must be [%s]: %s", columns, list, repairSlotTable)
		default:
			k.report("has a further unique key %s [%s], which allows a row only one slot: drop it", config.Clip(u.Name), columns)
		}
	}
	if !hasPrimary {
		k.report("has no primary key, which must be [%s]: %s", list, repairSlotTable)
	}
}

// otherKind reports whether one of two key columns is a number and the other is not: an engine
// may not match them, and no slot would find its base row.
func otherKind(base, slot *schema.Column) bool {
	return base != nil && (base.Numeric == schema.NotNumeric) != (slot.Numeric == schema.NotNumeric)
}

// OnlyTooNarrow reports whether a slot table's only fault is that its slot column is too narrow for a
// journal.
func OnlyTooNarrow(t, slot *schema.Table) bool {
	col, _ := FindColumn(slot, t.Counter.SlotTable.Column)
	if t.Counter.Layout != schema.LayoutJournal || col == nil || col.Numeric != schema.Integer || col.Bits >= 64 {
		return false
	}
	other, counter := *t, *t.Counter
	counter.Layout, other.Counter = schema.LayoutDedicated, &counter
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

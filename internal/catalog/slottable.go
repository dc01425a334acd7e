package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// CheckTables holds all tables that counts may be slotted of against the database,
// each strictly.
func (v *View) CheckTables(ctx context.Context) ([]CheckedTable, []config.Problem, error) {
	return v.Catalog.CheckTables(config.Always, v.Look(ctx))
}

// MadeSlots reads the facts of a slot table that has just been made, and what that
// has changed of the table.
func (v *View) MadeSlots(ctx context.Context, t CheckedTable) (*schema.Table, error) {
	base, err := v.Look(ctx)(t.Table.Schema, t.Table.Name)
	if err != nil {
		return nil, err
	}
	if base != nil {
		t.Table.Triggers.Own = base.Triggers.Own
	}
	return v.SlotTable(ctx, t)
}

// SlotTable reads the facts of a table's slot table, nil when there is none.
func (v *View) SlotTable(ctx context.Context, t CheckedTable) (*schema.Table, error) {
	slots, err := v.Look(ctx)(t.Table.Counter.SlotTable.Schema, t.Table.Counter.SlotTable.Name)
	if err == nil {
		v.Catalog.learnSlots(t.Table, slots)
	}
	return slots, err
}

// withSlots leaves the tables out for which nothing is demanded and that have
// no slot table, and reports whether there were any.
func (v *View) withSlots(ctx context.Context, tables []CheckedTable, configured int) (with []CheckedTable, lacking bool, err error) {
	for _, t := range tables {
		if !config.Demanded(t.Config) {
			if slots, err := v.SlotTable(ctx, t); err != nil {
				return nil, false, err
			} else if slots == nil {
				continue
			}
		}
		with = append(with, t)
	}
	return with, len(with) < configured, nil
}

// ChosenTables finds tables by their names.
func ChosenTables(all []*schema.Table, names []string) ([]*schema.Table, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []*schema.Table
	var known []string
	for _, t := range all {
		known = append(known, t.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf(
				"slotsql: %q is not a configured counter table: the configuration has %s",
				name,
				strings.Join(known, ", "),
			)
		}
		out = append(out, all[i])
	}
	return out, nil
}

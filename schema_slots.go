package slotsql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

func (c *view) checkTables(ctx context.Context) ([]checkedTable, []Problem, error) {
	return c.catalog.checkTables(always, c.look(ctx))
}

// madeSlots reads the facts of a slot table that has just been made, and what that
// has changed of the table.
func (c *view) madeSlots(ctx context.Context, t checkedTable) (*rewrite.Table, error) {
	base, err := c.look(ctx)(t.table.Schema, t.table.Name)
	if err != nil {
		return nil, err
	}
	if base != nil {
		t.table.OwnTriggers = base.OwnTriggers
	}
	return c.slotTable(ctx, t)
}

// slotTable reads the facts of a table's slot table, nil when there is none.
func (c *view) slotTable(ctx context.Context, t checkedTable) (*rewrite.Table, error) {
	slots, err := c.look(ctx)(t.table.Counter.SlotSchema, t.table.Counter.SlotTable)
	if err == nil {
		c.catalog.learnSlots(t.table, slots)
	}
	return slots, err
}

// withSlots leaves the tables out for which nothing is demanded and that have
// no slot table, and says whether there are such ones among so many.
func (c *view) withSlots(ctx context.Context, tables []checkedTable, configured int) (with []checkedTable, lacking bool, err error) {
	for _, t := range tables {
		if !demanded(t.config) {
			if slots, err := c.slotTable(ctx, t); err != nil {
				return nil, false, err
			} else if slots == nil {
				continue
			}
		}
		with = append(with, t)
	}
	return with, len(with) < configured, nil
}

// chosenTables finds tables by their names.
func chosenTables(all []*rewrite.Table, names []string) ([]*rewrite.Table, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []*rewrite.Table
	var known []string
	for _, t := range all {
		known = append(known, t.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("slotsql: %q is not a configured counter table: the configuration has %s", name, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

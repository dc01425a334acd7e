package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// refit adapts a slot table to a base table that has changed, and returns what it
// has done. The foreign key is moved where there is one, and
// one is wanted.
func refit(
	ctx context.Context,
	c *catalog.View,
	t catalog.CheckedTable,
	slots *schema.Table,
	wanted bool,
) (done []string, _ *schema.Table, err error) {
	d, name := c.Catalog.Dialect, t.Table.Counter.SlotTable.Name
	if misfits := c.Catalog.Misfits(t.Table, slots); len(misfits) > 0 &&
		len(catalog.CheckSlotTable(t.Table, catalog.WithoutOutgrown(t.Table, slots))) == 0 {
		refer := wanted && len(t.Table.Counter.Key) > 0 && len(slots.ForeignKeys.Parents) > 0 &&
			slices.ContainsFunc(misfits, func(m catalog.Misfit) bool { return m.Counter == "" }) // else the base table needs no lock
		t.Table.Counter.SlotTable.NoForeignKey = !wanted
		if err := c.MigratePatiently(ctx, d.RefitSlots(t.Table, slots, refer)); err != nil {
			return nil, nil, fmt.Errorf("slotsql: fitting slot table %q to its table: %w", name, err)
		}
		var why []string
		for _, m := range misfits {
			why = append(why, m.Why)
		}
		done = append(done, name+" (fixed: "+strings.Join(why, "; ")+")")
		t.Table.Counter.Unslotted.Faults = nil
		if slots, err = c.MadeSlots(ctx, t); err != nil {
			return done, nil, err
		}
	}
	empty, err := outgrownColumns(ctx, c, t.Table, slots)
	if err != nil || len(empty) == 0 {
		return done, slots, err
	}
	if err := c.MigratePatiently(ctx, d.DropColumns(t.Table, empty)); err != nil {
		return done, nil, fmt.Errorf("slotsql: dropping columns of slot table %q: %w", name, err)
	}
	slots, err = c.SlotTable(ctx, t)
	return append(done, name+" (column "+strings.Join(empty, ", ")+" dropped)"), slots, err
}

// outgrownColumns returns the columns of a slot table that its base table has not any more,
// if they hold nothing.
func outgrownColumns(ctx context.Context, c *catalog.View, t, slots *schema.Table) (empty []string, err error) {
	rest := catalog.WithoutOutgrown(t, slots)
	if t.Counter.Layout == schema.LayoutShared || slots == nil || len(slots.Columns) == len(rest.Columns) ||
		len(catalog.CheckSlotTable(t, rest)) > 0 {
		return nil, nil // nothing to do, or another program's table
	}
	for i := range slots.Columns {
		col := &slots.Columns[i]
		wanted := slices.ContainsFunc(catalog.SlotColumns(t.Counter), func(name string) bool { return strings.EqualFold(name, col.Name) })
		if wanted || t.Column(col.Name) != nil || !catalog.Summable(col) {
			continue
		}
		held, err := catalog.HeldOf(ctx, c, t, []string{col.Name})
		if err != nil {
			return nil, err
		}
		if !held[0] {
			empty = append(empty, col.Name)
		}
	}
	return empty, nil
}

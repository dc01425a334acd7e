package catalog

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// makeSlots creates the slot tables that are missing when the facts are read for the
// first time, where the configuration has them created, and reads all of them and their
// base tables together: by the same number of queries however many they are. Where one
// connection writes at a time one transaction creates all; elsewhere it would keep the
// locks of its foreign keys on every base table until the last one has been created.
func (sc *Schema) makeSlots(
	ctx context.Context,
	v *View,
	checked []CheckedTable,
	rights map[*rewrite.Table]dialect.SlotRights,
	strict bool,
) error {
	s := sc.Catalog
	if !strict || !s.Config.AutoMigrate() {
		return nil
	}
	var made []CheckedTable
	var ddl []string
	for _, c := range checked {
		slots, err := v.Look(ctx)(c.Table.Counter.SlotTable.Schema, c.Table.Counter.SlotTable.Name)
		if err != nil {
			return err
		}
		if _, known := rights[c.Table]; slots != nil || known {
			continue
		}
		made = append(made, c)
		if ddl = append(ddl, s.Dialect.CreateSlots(c.Table)...); s.Traits.OneWriter {
			continue
		}
		if err := v.Migrate(ctx, ddl); err != nil {
			return err
		}
		ddl = nil
	}
	if len(made) == 0 {
		return nil
	}
	if len(ddl) > 0 {
		if err := v.Migrate(ctx, ddl); err != nil {
			return err
		}
	}
	s.Expire() // other namespaces may know the tables as ones without slots
	sc.fresh.changes = s.Noticed.Changes.Load()
	return v.readMade(ctx, made)
}

// readMade reads the facts of slot tables that have just been made, and what that has
// changed of their tables.
func (v *View) readMade(ctx context.Context, made []CheckedTable) error {
	var names []dialect.WrittenName
	for _, c := range made {
		names = append(names,
			dialect.WrittenName{Schema: c.Table.Schema, Name: c.Table.Name},
			dialect.WrittenName{Schema: c.Table.Counter.SlotTable.Schema, Name: c.Table.Counter.SlotTable.Name})
	}
	if err := v.prefetched.read(ctx, v.Catalog.Dialect, v, names); err != nil {
		return err
	}
	for _, c := range made {
		base, _ := v.prefetched.table(dialect.WrittenName{Schema: c.Table.Schema, Name: c.Table.Name})
		if base != nil {
			c.Table.Triggers.Own = base.Triggers.Own
		}
	}
	return nil
}

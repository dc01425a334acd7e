package catalog

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// makeSlots creates the slot tables that are missing when the connector starts, if the
// configuration says so. Where one connection writes at a time one transaction
// creates all of them; elsewhere it would keep the locks of its foreign keys on every base table
// until the last one has been created.
func (l *schemaLoader) makeSlots(ctx context.Context, checked []CheckedTable) error {
	s, v := l.sc.Catalog, l.view
	if !l.strict() || !s.Config.AutoMigrate() || l.how.migrated {
		return nil
	}
	var ddl []string
	for _, c := range checked {
		slots, err := v.Look(ctx)(c.Table.Counter.SlotTable.Schema, c.Table.Counter.SlotTable.Name)
		if err != nil {
			return err
		}
		if _, known := l.rights[c.Table]; slots != nil || known {
			continue
		}
		if ddl = append(ddl, s.Dialect.CreateSlots(c.Table)...); s.Traits.OneWriter {
			continue
		}
		if err := l.migrate(ctx, v.Migrate, ddl); err != nil || l.unwritable {
			return err
		}
		ddl = nil
	}
	if len(ddl) == 0 {
		return nil
	}
	return l.migrate(ctx, v.Migrate, ddl)
}

// slotTable checks a table's slot table. In a running program it creates a missing one, if the
// configuration says so; a table without a slot table has no slots, and its base values are totals.
func (l *schemaLoader) slotTable(ctx context.Context, c CheckedTable) (found bool, problems []config.Problem, err error) {
	sc, s := l.sc, l.sc.Catalog
	slots, err := l.view.Look(ctx)(c.Table.Counter.SlotTable.Schema, c.Table.Counter.SlotTable.Name)
	if err != nil {
		return false, nil, err
	}
	strict := l.strict() && config.Demanded(c.Config)
	rights, known := l.rights[c.Table]
	if slots == nil && known {
		found, problems := l.hiddenSlotTable(ctx, c, strict)
		return found, problems, nil
	}
	if slots == nil && !strict && s.Config.AutoMigrate() && !l.how.migrated && complete(c) {
		open, err := l.view.MayBeInTransaction(ctx)
		if err != nil {
			return false, nil, err
		}
		if open {
			sc.fresh.partial = true // it cannot be created in a transaction of the application
		} else if err := l.createSlots(ctx, c); err != nil || !l.unwritable {
			return false, nil, err
		}
	}
	if slots == nil && l.unwritable {
		l.awaitWritable(ctx, c)
		return false, nil, nil
	}
	if slots == nil && !strict {
		sc.await(c.Config) // in a transaction, too: another process may make the slot table meanwhile
		if !sc.fresh.partial {
			sc.remarkSlotless(c)
		}
		return false, nil, nil
	}
	if strict {
		s.learnSlots(c.Table, slots)
		if problems = s.CheckSlots(c.Table, slots); len(problems) == 0 {
			problems = lackingRights(c.Config, c.Table.Counter, rights.Lacks)
		}
	} else {
		problems = sc.checkRunning(c, slots)
	}
	if len(problems) == 0 {
		sc.addReleased(c.Table, slots)
	}
	return true, c.Config.Locate(problems), nil
}

// checkRunning checks a slot table that once fitted against a base table that may have changed
// since: a counter without a column in the slot table is an ordinary column, and a column of
// the slot table without one in the base table belongs to no counter.
func (sc *Schema) checkRunning(c CheckedTable, slots *schema.Table) []config.Problem {
	s, t := sc.Catalog, c.Table
	if t.Counter.Layout != schema.LayoutShared && !slots.IsView {
		t.Counter.Counters = slices.DeleteFunc(t.Counter.Counters, func(name string) bool {
			col, _ := FindColumn(slots, name)
			if col == nil {
				why := "slot table " + config.Clip(t.Counter.SlotTable.Name) + " has no column for it: run `" + MigrateCommand + "`"
				sc.Plain = append(sc.Plain, plainCounter{t, name, why})
			}
			return col == nil
		})
	}
	s.learnSlots(t, slots)
	return s.CheckSlots(t, WithoutOutgrown(t, slots))
}

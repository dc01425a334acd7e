package upkeep

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Migrate creates the missing slot tables, and adapts those that exist: see
// slotsql.Migrate.
func Migrate(ctx context.Context, s *catalog.Catalog) (created []string, err error) {
	view, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	defer view.Parent.Close()
	checked, problems, err := view.CheckTables(ctx)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	if checked = slotted(checked); len(checked) == 0 {
		return nil, nil
	}
	if err := view.LimitLockWaits(ctx); err != nil {
		return nil, err
	}
	m := &migration{view: view}
	if err := m.leases(ctx); err != nil {
		return nil, err
	}
	for _, t := range checked {
		if err := m.table(ctx, t); err != nil {
			return m.created, err
		}
	}
	return m.created, catalog.AsConfigError(m.problems)
}

// migration is one run of Migrate.
type migration struct {
	view     *catalog.View
	created  []string // names of tables, with what was done to those that existed
	problems []config.Problem
}

// leases creates the table of leases.
func (m *migration) leases(ctx context.Context) error {
	l, ok := m.view.Catalog.Dialect.(dialect.Leaser)
	if !ok {
		return nil
	}
	leases, err := m.view.Look(ctx)("", dialect.LeaseTable)
	if err != nil || leases != nil {
		return err
	}
	if err := m.view.Migrate(ctx, l.CreateLeases()); err != nil {
		return fmt.Errorf("slotsql: creating table %q: %w", dialect.LeaseTable, err)
	}
	m.created = append(m.created, dialect.LeaseTable)
	return nil
}

// table creates or adapts the slot table of one table, unless the table's rows
// are not as a counter table's must be.
func (m *migration) table(ctx context.Context, t catalog.CheckedTable) error {
	more, err := m.view.Catalog.CheckRows(ctx, m.view, t)
	if err != nil {
		return err
	}
	if m.problems = append(m.problems, more...); len(more) > 0 {
		return nil
	}
	slots, err := m.slotTable(ctx, t)
	if err != nil {
		return err
	}
	wantsKey := !t.Config.NoForeignKeys && !t.Table.Storage.Partitioned
	done, slots, err := refit(ctx, m.view, t, slots, wantsKey)
	if m.created = append(m.created, done...); err != nil {
		return err
	}
	m.problems = append(m.problems, t.Config.Locate(m.view.Catalog.CheckSlots(t.Table, slots))...)
	m.view.Catalog.TellUnslotted(ctx, t.Table)
	done, err = refreshViews(ctx, m.view, t)
	m.created = append(m.created, done...)
	return err
}

// slotTable returns the slot table with the columns that it needs, each of them
// wide enough. It is created if it is missing.
func (m *migration) slotTable(ctx context.Context, t catalog.CheckedTable) (*schema.Table, error) {
	view, d, name := m.view, m.view.Catalog.Dialect, t.Table.Counter.SlotTable.Name
	slots, err := view.SlotTable(ctx, t)
	if err != nil {
		return nil, err
	}
	if slots == nil {
		if err := view.MigratePatiently(ctx, d.CreateSlots(t.Table)); err != nil {
			return nil, fmt.Errorf("slotsql: creating slot table %q: %w", name, err)
		}
		m.created = append(m.created, name)
		if slots, err = view.MadeSlots(ctx, t); err != nil {
			return nil, err
		}
	}
	if more := catalog.Lacking(t.Table, slots); len(more) > 0 {
		if err := view.MigratePatiently(ctx, d.AddSlots(t.Table, more)); err != nil {
			return nil, fmt.Errorf("slotsql: adding columns to slot table %q: %w", name, err)
		}
		m.created = append(m.created, catalog.Added(name, more))
		if slots, err = view.SlotTable(ctx, t); err != nil {
			return nil, err
		}
	}
	w, ok := d.(dialect.Widener)
	if !ok || t.Table.Counter.Layout == schema.LayoutShared || !catalog.OnlyTooNarrow(t.Table, slots) {
		return slots, nil
	}
	if err := view.MigratePatiently(ctx, w.WidenSlots(t.Table)); err != nil {
		return nil, fmt.Errorf("slotsql: widening slot table %q: %w", name, err)
	}
	m.created = append(m.created, name+" (widened)")
	return view.SlotTable(ctx, t)
}

package upkeep

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/verify"
	"github.com/slotsql/slotsql/rewrite"
)

// This file holds what is done with a database before it is used: its slot
// tables are created and checked. None of it needs slot tables to be there, so
// it works where opening a wrapped database fails.

// TableStatus is what Check found of one configured table.
type TableStatus struct {
	Table     string          `json:"table"`
	Mode      string          `json:"mode"` // a Mode
	Key       []string        `json:"key"`
	SlotTable string          `json:"slot_table"`
	Missing   bool            `json:"missing"` // the slot table is; auto_migrate will create it, or it is not needed in this mode
	Layout    string          `json:"layout"`  // a Layout
	Slots     int             `json:"slots"`
	Counters  []CounterStatus `json:"counters"`
	// NoForeignKey says that the slot table has no foreign key to the table:
	// a DELETE of the table's rows is drained for. Risks says what deletes rows
	// without slotsql.
	NoForeignKey bool                 `json:"no_foreign_key,omitempty"`
	Risks        []string             `json:"risks,omitempty"`
	Views        []catalog.ViewStatus `json:"views,omitempty"`
	// Unnamed says what happens to the views that the configuration does not
	// name, and the line that names them.
	Unnamed string `json:"unnamed_views,omitempty"`
}

// CounterStatus is one counter of a table: increments of one that is not
// slotted go to the base row as ever, for the reason given.
type CounterStatus struct {
	Column  string `json:"column"`
	Slotted bool   `json:"slotted"`
	Reason  string `json:"reason,omitempty"`
}

// Check is slotsql.Check.
func Check(ctx context.Context, s *catalog.Catalog) ([]TableStatus, error) {
	cn, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.Parent.Close()
	checked, problems, err := cn.CheckTables(ctx)
	if err != nil {
		return nil, err
	}
	var out []TableStatus
	for _, t := range checked {
		slots, err := cn.SlotTable(ctx, t)
		if err != nil {
			return nil, err
		}
		missing := slots == nil && (cn.Catalog.Config.AutoMigrate() || !config.Demanded(t.Config))
		if !missing {
			more := cn.Catalog.CheckSlots(t.Table, slots)
			if slots != nil && len(more) == 0 {
				more = cn.Catalog.CheckFit(t.Table, slots)
			}
			problems = append(problems, t.Config.Locate(more)...)
			if len(more) > 0 {
				continue
			}
		}
		rows, err := cn.Catalog.CheckRows(ctx, cn, t)
		if err != nil {
			return nil, err
		}
		problems = append(problems, rows...)
		more, views, err := cn.Catalog.CheckViews(ctx, cn, t)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		if more, err = verify.CheckRecounts(ctx, cn, t); err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		status := statusOf(t, missing)
		if (slots != nil || t.Table.Counter.Layout == rewrite.LayoutShared) && cn.Catalog.LeavesSlots(t.Table) {
			status.NoForeignKey, status.Risks = true, catalog.DeletedInside(t.Table)
		}
		status.Views, status.Unnamed = views, catalog.ViewsUnnamed(t.Config, views)
		out = append(out, status)
	}
	return append(out, absent(cn.Catalog, out)...), catalog.AsConfigError(problems)
}

func statusOf(t catalog.CheckedTable, missing bool) TableStatus {
	c := t.Table.Counter
	out := TableStatus{
		Table:     t.Config.Name,
		Mode:      string(t.Config.Mode),
		Key:       c.Key,
		SlotTable: c.SlotTable,
		Missing:   missing,
		Layout:    string(t.Config.Layout),
		Slots:     c.Slots,
	}
	if out.Key == nil {
		out.Key = []string{}
	}
	for _, column := range c.Counters {
		ok, why := t.Table.Slottable(column)
		if c.IsPassive(column) {
			ok, why = false, catalog.PassiveReason(t.Config, c.SlotTable)
		}
		out.Counters = append(out.Counters, CounterStatus{column, ok, why})
	}
	return out
}

// Migrate is slotsql.Migrate.
func Migrate(ctx context.Context, s *catalog.Catalog, opts ...SetupOption) (created []string, err error) {
	cn, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.Parent.Close()
	checked, problems, err := cn.CheckTables(ctx)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	checked = notOff(checked)
	if err := cn.WaitsBriefly(ctx); err != nil {
		return nil, err
	}
	applySetup(checked, opts)
	if l, ok := cn.Catalog.Dialect.(dialect.Leaser); ok && len(checked) > 0 {
		leases, err := cn.Look(ctx)("", dialect.LeaseTable)
		if err != nil {
			return nil, err
		}
		if leases == nil {
			if err := cn.Migrate(ctx, l.CreateLeases()); err != nil {
				return nil, fmt.Errorf("slotsql: create table %q: %w", dialect.LeaseTable, err)
			}
			created = append(created, dialect.LeaseTable)
		}
	}
	for _, t := range checked {
		more, err := cn.Catalog.CheckRows(ctx, cn, t)
		if err != nil {
			return created, err
		}
		if problems = append(problems, more...); len(more) > 0 {
			continue
		}
		slots, err := cn.SlotTable(ctx, t)
		if err != nil {
			return created, err
		}
		if slots == nil {
			if err := cn.MigratePatiently(ctx, cn.Catalog.Dialect.CreateSlots(t.Table)); err != nil {
				return created, fmt.Errorf("slotsql: create slot table %q: %w", t.Table.Counter.SlotTable, err)
			}
			created = append(created, t.Table.Counter.SlotTable)
			if slots, err = cn.MadeSlots(ctx, t); err != nil {
				return created, err
			}
		}
		if more := catalog.Lacking(t.Table, slots); len(more) > 0 {
			if err := cn.MigratePatiently(ctx, cn.Catalog.Dialect.AddSlots(t.Table, more)); err != nil {
				return created, fmt.Errorf("slotsql: add columns to slot table %q: %w", t.Table.Counter.SlotTable, err)
			}
			created = append(created, catalog.Added(t.Table.Counter.SlotTable, more))
			if slots, err = cn.SlotTable(ctx, t); err != nil {
				return created, err
			}
		}
		if w, ok := cn.Catalog.Dialect.(dialect.Widener); ok && t.Table.Counter.Layout != rewrite.LayoutShared && catalog.Narrow(t.Table, slots) {
			if err := cn.MigratePatiently(ctx, w.WidenSlots(t.Table)); err != nil {
				return created, fmt.Errorf("slotsql: widen slot table %q: %w", t.Table.Counter.SlotTable, err)
			}
			created = append(created, t.Table.Counter.SlotTable+" (widened)")
			if slots, err = cn.SlotTable(ctx, t); err != nil {
				return created, err
			}
		}
		done, slots, err := refit(ctx, cn, t, slots, !t.Config.NoForeignKeys && !t.Table.Partitioned && !withoutForeignKeys(opts))
		if created = append(created, done...); err != nil {
			return created, err
		}
		problems = append(problems, t.Config.Locate(cn.Catalog.CheckSlots(t.Table, slots))...)
	}
	return created, catalog.AsConfigError(problems)
}

// DDL is slotsql.DDL.
func DDL(ctx context.Context, s *catalog.Catalog, opts ...SetupOption) ([]string, error) {
	cn, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.Parent.Close()
	checked, problems, err := cn.CheckTables(ctx)
	return ddlOf(cn.Catalog.Dialect, checked, problems, err, opts)
}

// SchemaDDL is slotsql.SchemaDDL.
func SchemaDDL(d dialect.Dialect, cfg *config.Config, schema string, opts ...SetupOption) ([]string, error) {
	f, err := catalog.ParseSchemaFile(d, schema)
	if err != nil {
		return nil, err
	}
	checked, problems, err := session.NewFor(d, cfg, cfg.Tables()).CheckTables(config.Always, f.Look)
	return ddlOf(d, checked, problems, err, opts)
}

func ddlOf(d dialect.Dialect, checked []catalog.CheckedTable, problems []config.Problem, err error, opts []SetupOption) ([]string, error) {
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	applySetup(checked, opts)
	var out []string
	checked = notOff(checked)
	made := map[[2]string]bool{} // shared slot tables
	for _, t := range checked {
		if c := t.Table.Counter; c.Layout == rewrite.LayoutShared {
			id := [2]string{c.SlotSchema, c.SlotTable}
			if made[id] {
				continue
			}
			made[id] = true
		}
		texts := d.CreateSlots(t.Table)
		if len(texts) > 0 {
			texts[0] = commented(d.CreateLocks(t.Table)) + texts[0]
		}
		out = append(out, texts...)
	}
	if l, ok := d.(dialect.Leaser); ok && len(checked) > 0 {
		out = append(out, l.CreateLeases()...)
	}
	return out, nil
}

// notOff leaves out the tables with mode off.
func notOff(tables []catalog.CheckedTable) []catalog.CheckedTable {
	return slices.DeleteFunc(tables, func(t catalog.CheckedTable) bool { return t.Config.Mode == config.ModeOff })
}

// absent returns what is to be said of tables with mode off that are not in the
// database, or not as a counter table has to be.
func absent(s *catalog.Catalog, found []TableStatus) (out []TableStatus) {
	for _, t := range s.Tables {
		if t.Mode == config.ModeOff && !slices.ContainsFunc(found, func(o TableStatus) bool { return o.Table == t.Name }) {
			out = append(out, TableStatus{Table: t.Name, Mode: string(t.Mode), Key: []string{}, Counters: []CounterStatus{}, Missing: true})
		}
	}
	return out
}

// CheckSchema is Check without a database: it holds the configuration against a
// schema file as for ExplainSchema. It knows nothing of slot tables, and of
// views no more than their texts say.
func CheckSchema(d dialect.Dialect, cfg *config.Config, schema string) ([]TableStatus, error) {
	f, err := catalog.ParseSchemaFile(d, schema)
	if err != nil {
		return nil, err
	}
	s := session.NewFor(d, cfg, cfg.Tables())
	checked, problems, err := s.CheckTables(config.Always, f.Look)
	if err != nil {
		return nil, err
	}
	var out []TableStatus
	for _, t := range checked {
		status := statusOf(t, false)
		named := map[string]bool{}
		for _, written := range t.Config.Views {
			parts, _ := config.SplitName(written)
			named[parts[len(parts)-1]] = true
		}
		for _, name := range dialect.ViewsOver(t.Table, f.Views, dialect.SpelledAnywhere) {
			status.Views = append(status.Views, catalog.ViewStatus{View: name, Named: named[name]})
		}
		status.Unnamed = catalog.ViewsUnnamed(t.Config, status.Views)
		out = append(out, status)
	}
	return append(out, absent(s.Catalog, out)...), catalog.AsConfigError(problems)
}

package slotsql

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
)

// This file holds what is done with a database before it is used: its slot
// tables are created and checked. None of it needs slot tables to be there, so
// it works where opening a wrapped database fails.

// TableStatus is what Check found of one configured table.
type TableStatus struct {
	Table     string          `json:"table"`
	Mode      string          `json:"mode"` // on, passive, shadow or off
	Key       []string        `json:"key"`
	SlotTable string          `json:"slot_table"`
	Missing   bool            `json:"missing"` // the slot table is; auto_migrate will create it, or it is not needed in this mode
	Layout    string          `json:"layout"`
	Slots     int             `json:"slots"`
	Counters  []CounterStatus `json:"counters"`
	// NoForeignKey says that the slot table has no foreign key to the table:
	// a DELETE of the table's rows is drained for. Risks says what deletes rows
	// without slotsql.
	NoForeignKey bool         `json:"no_foreign_key,omitempty"`
	Risks        []string     `json:"risks,omitempty"`
	Views        []ViewStatus `json:"views,omitempty"`
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

// check is slotsql.Check.
func check(ctx context.Context, s *catalog) ([]TableStatus, error) {
	cn, err := setup(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.parent.Close()
	checked, problems, err := cn.checkTables(ctx)
	if err != nil {
		return nil, err
	}
	var out []TableStatus
	for _, t := range checked {
		slots, err := cn.slotTable(ctx, t)
		if err != nil {
			return nil, err
		}
		missing := slots == nil && (cn.catalog.config.AutoMigrate() || !demanded(t.config))
		if !missing {
			more := cn.catalog.checkSlots(t.table, slots)
			if slots != nil && len(more) == 0 {
				more = cn.catalog.checkFit(t.table, slots)
			}
			problems = append(problems, t.config.locate(more)...)
			if len(more) > 0 {
				continue
			}
		}
		rows, err := cn.catalog.checkRows(ctx, cn, t)
		if err != nil {
			return nil, err
		}
		problems = append(problems, rows...)
		more, views, err := cn.catalog.checkViews(ctx, cn, t)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		if more, err = checkRecounts(ctx, cn, t); err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		status := statusOf(t, missing)
		if (slots != nil || t.table.Counter.Shared != nil) && cn.catalog.leavesSlots(t.table) {
			status.NoForeignKey, status.Risks = true, deletedInside(t.table)
		}
		status.Views, status.Unnamed = views, viewsUnnamed(t.config, views)
		out = append(out, status)
	}
	return append(out, absent(cn.catalog, out)...), asConfigError(problems)
}

func statusOf(t checkedTable, missing bool) TableStatus {
	c := t.table.Counter
	out := TableStatus{Table: t.config.Name, Mode: t.config.Mode, Key: c.Key, SlotTable: c.SlotTable, Missing: missing, Layout: t.config.Layout, Slots: c.Slots}
	if out.Key == nil {
		out.Key = []string{}
	}
	for _, column := range c.Counters {
		ok, why := t.table.Slottable(column)
		if c.IsPassive(column) {
			ok, why = false, passiveReason(t.config, c.SlotTable)
		}
		out.Counters = append(out.Counters, CounterStatus{column, ok, why})
	}
	return out
}

// migrate is slotsql.Migrate.
func migrate(ctx context.Context, s *catalog, opts ...SetupOption) (created []string, err error) {
	cn, err := setup(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.parent.Close()
	checked, problems, err := cn.checkTables(ctx)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	checked = notOff(checked)
	if err := cn.waitsBriefly(ctx); err != nil {
		return nil, err
	}
	applySetup(checked, opts)
	if l, ok := cn.catalog.dialect.(dialect.Leaser); ok && len(checked) > 0 {
		leases, err := cn.look(ctx)("", dialect.LeaseTable)
		if err != nil {
			return nil, err
		}
		if leases == nil {
			if err := cn.migrate(ctx, l.CreateLeases()); err != nil {
				return nil, fmt.Errorf("slotsql: create table %q: %w", dialect.LeaseTable, err)
			}
			created = append(created, dialect.LeaseTable)
		}
	}
	for _, t := range checked {
		more, err := cn.catalog.checkRows(ctx, cn, t)
		if err != nil {
			return created, err
		}
		if problems = append(problems, more...); len(more) > 0 {
			continue
		}
		slots, err := cn.slotTable(ctx, t)
		if err != nil {
			return created, err
		}
		if slots == nil {
			if err := cn.migratePatiently(ctx, cn.catalog.dialect.CreateSlots(t.table)); err != nil {
				return created, fmt.Errorf("slotsql: create slot table %q: %w", t.table.Counter.SlotTable, err)
			}
			created = append(created, t.table.Counter.SlotTable)
			if slots, err = cn.madeSlots(ctx, t); err != nil {
				return created, err
			}
		}
		if more := lacking(t.table, slots); len(more) > 0 {
			if err := cn.migratePatiently(ctx, cn.catalog.dialect.AddSlots(t.table, more)); err != nil {
				return created, fmt.Errorf("slotsql: add columns to slot table %q: %w", t.table.Counter.SlotTable, err)
			}
			created = append(created, added(t.table.Counter.SlotTable, more))
			if slots, err = cn.slotTable(ctx, t); err != nil {
				return created, err
			}
		}
		if w, ok := cn.catalog.dialect.(dialect.Widener); ok && t.table.Counter.Shared == nil && narrow(t.table, slots) {
			if err := cn.migratePatiently(ctx, w.WidenSlots(t.table)); err != nil {
				return created, fmt.Errorf("slotsql: widen slot table %q: %w", t.table.Counter.SlotTable, err)
			}
			created = append(created, t.table.Counter.SlotTable+" (widened)")
			if slots, err = cn.slotTable(ctx, t); err != nil {
				return created, err
			}
		}
		done, slots, err := refit(ctx, cn, t, slots, !t.config.NoForeignKeys && !t.table.Partitioned && !withoutForeignKeys(opts))
		if created = append(created, done...); err != nil {
			return created, err
		}
		problems = append(problems, t.config.locate(cn.catalog.checkSlots(t.table, slots))...)
	}
	return created, asConfigError(problems)
}

// ddl is slotsql.DDL.
func ddl(ctx context.Context, s *catalog, opts ...SetupOption) ([]string, error) {
	cn, err := setup(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.parent.Close()
	checked, problems, err := cn.checkTables(ctx)
	return ddlOf(cn.catalog.dialect, checked, problems, err, opts)
}

// schemaDDL is slotsql.SchemaDDL.
func schemaDDL(d dialect.Dialect, config *Config, schema string, opts ...SetupOption) ([]string, error) {
	f, err := parseSchemaFile(d, schema)
	if err != nil {
		return nil, err
	}
	checked, problems, err := sharedOf(d, config, config.Tables()).checkTables(always, f.look)
	return ddlOf(d, checked, problems, err, opts)
}

func ddlOf(d dialect.Dialect, checked []checkedTable, problems []Problem, err error, opts []SetupOption) ([]string, error) {
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	applySetup(checked, opts)
	var out []string
	checked = notOff(checked)
	made := map[[2]string]bool{} // shared slot tables
	for _, t := range checked {
		if c := t.table.Counter; c.Shared != nil {
			id := [2]string{c.SlotSchema, c.SlotTable}
			if made[id] {
				continue
			}
			made[id] = true
		}
		texts := d.CreateSlots(t.table)
		if len(texts) > 0 {
			texts[0] = commented(d.CreateLocks(t.table)) + texts[0]
		}
		out = append(out, texts...)
	}
	if l, ok := d.(dialect.Leaser); ok && len(checked) > 0 {
		out = append(out, l.CreateLeases()...)
	}
	return out, nil
}

// notOff leaves out the tables with mode off.
func notOff(tables []checkedTable) []checkedTable {
	return slices.DeleteFunc(tables, func(t checkedTable) bool { return t.config.Mode == modeOff })
}

// absent returns what is to be said of tables with mode off that are not in the
// database, or not as a counter table has to be.
func absent(s *catalog, found []TableStatus) (out []TableStatus) {
	for _, t := range s.tables {
		if t.Mode == modeOff && !slices.ContainsFunc(found, func(o TableStatus) bool { return o.Table == t.Name }) {
			out = append(out, TableStatus{Table: t.Name, Mode: t.Mode, Key: []string{}, Counters: []CounterStatus{}, Missing: true})
		}
	}
	return out
}

// CheckSchema is Check without a database: it holds the configuration against a
// schema file as for ExplainSchema. It knows nothing of slot tables, and of
// views no more than their texts say.
func CheckSchema(d dialect.Dialect, config *Config, schema string) ([]TableStatus, error) {
	f, err := parseSchemaFile(d, schema)
	if err != nil {
		return nil, err
	}
	s := sharedOf(d, config, config.Tables())
	checked, problems, err := s.checkTables(always, f.look)
	if err != nil {
		return nil, err
	}
	var out []TableStatus
	for _, t := range checked {
		status := statusOf(t, false)
		named := map[string]bool{}
		for _, written := range t.config.Views {
			parts, _ := splitName(written)
			named[parts[len(parts)-1]] = true
		}
		for _, name := range dialect.ViewsOver(t.table, f.views, dialect.SpelledAnywhere) {
			status.Views = append(status.Views, ViewStatus{name, named[name]})
		}
		status.Unnamed = viewsUnnamed(t.config, status.Views)
		out = append(out, status)
	}
	return append(out, absent(s.catalog, out)...), asConfigError(problems)
}

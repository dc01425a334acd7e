package slotsql

import (
	"context"
	"database/sql/driver"
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

// Check holds the configuration of a connector of OpenConnector or
// WrapConnector against its database and changes nothing. All problems come at
// once, as a *ConfigError, beside the tables that have none.
func Check(ctx context.Context, c driver.Connector) ([]TableStatus, error) {
	cn, err := setup(ctx, c)
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
		if more, err = cn.checkRecounts(ctx, t); err != nil {
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

// Migrate creates the slot tables that are missing of tables with mode on, passive or
// shadow, and the table of leases,
// whatever auto_migrate says, and returns their names. A slot table that is to be a
// journal's from now on is widened, and one that lacks columns of counters gets
// them, which is said behind its name (docs/operations.md says when processes may
// count in them). So does one whose table has changed under it: types of columns,
// the table that its foreign key refers to, triggers and columns without use are put
// right. It may be run again and by several processes at
// once. Problems of the configuration and of slot tables that are there come as
// a *ConfigError; with problems of the former kind nothing is created.
//
// The foreign key of a slot table takes a lock on the base table for a moment,
// see docs/operations.md. A statement that does not get it soon gives up, so that
// nobody waits long behind it, and is tried again for a minute. WithoutForeignKeys leaves it out.
func Migrate(ctx context.Context, c driver.Connector, opts ...SetupOption) (created []string, err error) {
	cn, err := setup(ctx, c)
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
		done, slots, err := cn.refit(ctx, t, slots, !t.config.NoForeignKeys && !t.table.Partitioned && !withoutForeignKeys(opts))
		if created = append(created, done...); err != nil {
			return created, err
		}
		problems = append(problems, t.config.locate(cn.catalog.checkSlots(t.table, slots))...)
	}
	return created, asConfigError(problems)
}

// DDL returns the statements that create the slot tables of tables with mode on, passive or shadow, and the table of leases, whether they are
// there or not. Run by other means than Migrate they belong into one
// transaction where the engine has transactional DDL.
// Comments in them say which locks they take on base tables.
func DDL(ctx context.Context, c driver.Connector, opts ...SetupOption) ([]string, error) {
	cn, err := setup(ctx, c)
	if err != nil {
		return nil, err
	}
	defer cn.parent.Close()
	checked, problems, err := cn.checkTables(ctx)
	return ddlOf(cn.catalog.dialect, checked, problems, err, opts)
}

// SchemaDDL is DDL without a database: from a schema file as for
// ExplainSchema.
func SchemaDDL(d dialect.Dialect, config *Config, schema string, opts ...SetupOption) ([]string, error) {
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

// setup opens a connection of the parent for slotsql's own statements.
func setup(ctx context.Context, c driver.Connector) (*view, error) {
	w, ok := c.(*connector)
	if !ok {
		return nil, errNotOurs
	}
	raw, err := w.parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	cn := ownView(ctx, w.every.catalog, raw)
	if _, err := cn.catalog.dialect.Namespace(ctx, cn.session()); err != nil { // refuses sessions it cannot serve
		_ = raw.Close()
		return nil, err
	}
	return cn, nil
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

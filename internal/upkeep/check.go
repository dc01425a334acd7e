package upkeep

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/verify"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// TableStatus is what Check found of one configured table.
type TableStatus struct {
	Table     string   `json:"table"`
	Mode      string   `json:"mode"` // on, passive, shadow or off
	Key       []string `json:"key"`
	SlotTable string   `json:"slot_table"`
	Missing   bool     `json:"missing"` // no slot table yet: auto_migrate will create it, or this mode needs none
	Layout    string   `json:"layout"`  // dedicated, shared or journal
	Slots     int      `json:"slots"`   // at most so many for a row; 0: none
	// LeftOver is set when the configuration says slots: 0, and there is a slot table all
	// the same.
	LeftOver bool `json:"left_over,omitempty"`

	Counters []CounterStatus `json:"counters"`
	// NoForeignKey is set when the slot table has no foreign key to the table:
	// a DELETE of the table's rows drains. Risks lists what deletes rows inside
	// the database, unseen by slotsql.
	NoForeignKey bool                 `json:"no_foreign_key,omitempty"`
	Risks        []string             `json:"risks,omitempty"`
	Views        []catalog.ViewStatus `json:"views,omitempty"`
	// Stored are the functions and views of slotsql's own.
	Stored []StoredStatus `json:"stored,omitempty"`
	// Unnamed warns of views that the configuration does not name, with the line
	// that would name them.
	Unnamed string `json:"unnamed_views,omitempty"`
	// Lacks is what the session's user lacks to use the slot table, or to create it where
	// auto_migrate demands that; FoldLacks what it lacks to move slots into base rows.
	Lacks     []dialect.Lack `json:"lacks,omitempty"`
	FoldLacks []dialect.Lack `json:"fold_lacks,omitempty"`
}

// CounterStatus is one counter of a table. Increments of a counter that is not
// slotted run on the base row, for the reason given.
type CounterStatus struct {
	Column  string `json:"column"`
	Slotted bool   `json:"slotted"`
	Reason  string `json:"reason,omitempty"`
}

// Check compares the configuration with the database: see slotsql.Check.
func Check(ctx context.Context, s *catalog.Catalog) ([]TableStatus, error) {
	cn, err := openLearned(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.Parent.Close()
	checked, problems, err := cn.CheckTables(ctx)
	if err != nil {
		return nil, err
	}
	rights, err := cn.SlotRights(ctx, slotted(slices.Clone(checked)))
	if err != nil {
		return nil, err
	}
	var out []TableStatus
	for _, t := range checked {
		if t.Table.Counter.Slots == 0 {
			more, err := cn.CheckSlotless(ctx, t)
			if err != nil {
				return nil, err
			}
			problems, out = append(problems, more...), append(out, StatusOf(t, false))
			continue
		}
		status, more, err := checkSlotted(ctx, cn, t, rights[t.Table])
		if err != nil {
			return nil, err
		}
		if problems = append(problems, more...); status != nil {
			out = append(out, *status)
		}
	}
	return append(out, Absent(cn.Catalog, out)...), catalog.AsConfigError(problems)
}

// checkSlotted checks a table that is to have slots; the status is nil where its slot table does not fit.
func checkSlotted(
	ctx context.Context,
	cn *catalog.View,
	t catalog.CheckedTable,
	rights dialect.SlotRights,
) (status *TableStatus, problems []config.Problem, err error) {
	slots, err := cn.SlotTable(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	missing := slots == nil && (cn.Catalog.Config.AutoMigrate() || !config.Demanded(t.Config))
	lacks := rights.Lacks
	if missing && config.Demanded(t.Config) {
		create, err := catalog.MayNotCreate(ctx, cn, t.Table)
		if err != nil {
			return nil, nil, err
		}
		lacks = append(create, lacks...)
	}
	if !missing && (slots != nil || len(lacks) == 0) { // else it may not be seen
		more := cn.Catalog.CheckSlots(t.Table, slots)
		if slots != nil && len(more) == 0 {
			more = cn.Catalog.CheckFit(t.Table, slots)
		}
		if len(more) > 0 {
			return nil, t.Config.Locate(more), nil
		}
	}
	rows, err := cn.Catalog.CheckRows(ctx, cn, t)
	if err != nil {
		return nil, nil, err
	}
	more, views, err := cn.Catalog.CheckViews(ctx, cn, t)
	if err != nil {
		return nil, nil, err
	}
	recounts, err := verify.CheckRecounts(ctx, cn, t)
	if err != nil {
		return nil, nil, err
	}
	out := StatusOf(t, missing)
	if (slots != nil || t.Table.Counter.Layout == schema.LayoutShared) && cn.Catalog.LeavesSlots(t.Table) {
		out.NoForeignKey, out.Risks = true, catalog.DeletedInside(t.Table)
	}
	if out.Stored, err = storedStatus(ctx, cn, t); err != nil {
		return nil, nil, err
	}
	out.Views, out.Unnamed = views, catalog.ViewsUnnamed(t.Config, views)
	if out.Lacks = lacks; len(lacks) == 0 {
		out.FoldLacks = rights.Fold
	}
	return &out, slices.Concat(rows, more, recounts), nil
}

// StatusOf returns the status of a table, as far as its facts and its configuration say it.
func StatusOf(t catalog.CheckedTable, missing bool) TableStatus {
	c := t.Table.Counter
	out := TableStatus{
		Table:     t.Config.Name,
		Mode:      string(t.Config.Mode),
		Key:       c.Key,
		SlotTable: c.SlotTable.Name,
		Missing:   missing,
		Layout:    string(t.Config.Layout),
		Slots:     t.Config.Slots,
		LeftOver:  t.Config.Slots == 0 && c.Slots > 0,
	}
	if c.Slots == 0 {
		out.SlotTable = ""
	}
	if out.Key == nil {
		out.Key = []string{}
	}
	for _, column := range c.Counters {
		ok, why := t.Table.Slottable(column)
		if c.Unslotted.IsPassive(column) {
			ok, why = false, catalog.PassiveReason(t.Config, t.Table)
		}
		out.Counters = append(out.Counters, CounterStatus{column, ok, why})
	}
	return out
}

// Absent returns the status of tables with mode off that the database lacks, or
// that do not qualify as counter tables: that is no problem.
func Absent(s *catalog.Catalog, found []TableStatus) (out []TableStatus) {
	for _, t := range s.Tables {
		if t.Mode == config.ModeOff && !slices.ContainsFunc(found, func(o TableStatus) bool { return o.Table == t.Name }) {
			out = append(out, TableStatus{Table: t.Name, Mode: string(t.Mode), Key: []string{}, Counters: []CounterStatus{}, Missing: true})
		}
	}
	return out
}

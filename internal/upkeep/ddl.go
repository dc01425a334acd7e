package upkeep

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// DDL returns the statements that create the slot tables: see slotsql.DDL.
func DDL(ctx context.Context, s *catalog.Catalog) ([]string, error) {
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
	return CreateSlots(cn.Catalog.Dialect, checked), nil
}

// CreateSlots returns the statements that create the slot tables of these tables.
func CreateSlots(d dialect.Dialect, checked []catalog.CheckedTable) []string {
	var out []string
	checked = slotted(checked)
	made := map[[2]string]bool{} // shared slot tables
	for _, t := range checked {
		if c := t.Table.Counter; c.Layout == schema.LayoutShared {
			id := [2]string{c.SlotTable.Schema, c.SlotTable.Name}
			if made[id] {
				continue
			}
			made[id] = true
		}
		statements := d.CreateSlots(t.Table)
		if len(statements) > 0 {
			statements[0] = commented(d.CreateLocks(t.Table)) + statements[0]
		}
		out = append(out, statements...)
	}
	if l, ok := d.(dialect.Leaser); ok && len(checked) > 0 {
		out = append(out, l.CreateLeases()...)
	}
	return out
}

// slotted leaves out the tables with mode off, and those that are to have no slots.
func slotted(tables []catalog.CheckedTable) []catalog.CheckedTable {
	return slices.DeleteFunc(tables, func(t catalog.CheckedTable) bool { return t.Config.Mode == config.ModeOff || t.Config.Slots == 0 })
}

// commented makes the lines a comment above a statement.
func commented(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("-- " + l + "\n")
	}
	return b.String()
}

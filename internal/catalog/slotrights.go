package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A role that may read a counter has to read its slots, and one that may update it has to write
// them. With rights on the base table alone it would be refused access to a table that it has
// never named. So it gets an error when it connects, with the statements that grant what it lacks.
// A role that may do neither needs nothing.
//
// In a running program rights are granted and revoked. Then the engine itself refuses single
// statements that lack a right; a slot table that has become invisible is still one.

// SlotRights reads what rights the session's user lacks on the slot tables, by table.
func (v *View) SlotRights(ctx context.Context, tables []CheckedTable) (map[*schema.Table]dialect.SlotRights, error) {
	d, ok := v.Catalog.Dialect.(dialect.RightsReader)
	if !ok || v.Catalog.Role.Beside || len(tables) == 0 {
		return nil, nil
	}
	var asked []dialect.SlotTable
	for _, t := range tables {
		slots, err := v.Look(ctx)(t.Table.Counter.SlotTable.Schema, t.Table.Counter.SlotTable.Name)
		if err != nil {
			return nil, err
		}
		if slots == nil {
			_, hidden, err := d.Hidden(ctx, v.Own(), t.Table.Counter.SlotTable.Schema, t.Table.Counter.SlotTable.Name)
			if err != nil {
				return nil, err
			} else if !hidden {
				continue
			}
		}
		views, err := v.viewsOver(ctx, t.Table)
		if err != nil {
			return nil, err
		}
		asked = append(asked, dialect.SlotTable{Base: t.Table, Slots: slots, Views: views})
	}
	if len(asked) == 0 {
		return nil, nil
	}
	rights, err := d.SlotRights(ctx, v.Own(), asked)
	if err != nil {
		return nil, err
	}
	out := map[*schema.Table]dialect.SlotRights{}
	for i, r := range rights {
		t := asked[i].Base
		out[t], t.Counter.Rights.Ungranted, t.Counter.Rights.Blind, t.Counter.Rights.ByColumn = r, Grants(r.Fold), r.Blind, r.Columns
	}
	return out, nil
}

// Grants returns the statements that grant the missing rights.
func Grants(lacks []dialect.Lack) (out []string) {
	for _, l := range lacks {
		out = append(out, l.Grant)
	}
	return out
}

// lackingRights returns the problem of missing rights on a table's slot table.
func lackingRights(t *config.TableConfig, c *schema.Counter, lacks []dialect.Lack) []config.Problem {
	if len(lacks) == 0 {
		return nil
	}
	return t.Locate(
		[]config.Problem{{Message: fmt.Sprintf("table %s: the session's user lacks rights on slot table %s, for %s: run, as its owner: %s",
			config.Clip(t.Name), config.Clip(c.SlotTable.Name), lacks[0].What, strings.Join(Grants(lacks), "; "))}},
	)
}

// MayNotCreate returns what the session's user lacks to create the slot table of a table.
func MayNotCreate(ctx context.Context, v *View, t *schema.Table) ([]dialect.Lack, error) {
	d, ok := v.Catalog.Dialect.(dialect.RightsReader)
	if !ok {
		return nil, nil
	}
	rights, err := d.SlotRights(ctx, v.Own(), []dialect.SlotTable{{Base: t, Create: true}})
	if err != nil {
		return nil, err
	}
	return rights[0].Create, nil
}

// hiddenSlotTable is slotTable for a slot table that the session's user does not see.
func (l *schemaLoader) hiddenSlotTable(ctx context.Context, c CheckedTable, strict bool) (found bool, problems []config.Problem) {
	sc := l.sc
	problems = lackingRights(c.Config, c.Table.Counter, l.rights[c.Table].Lacks)
	switch {
	case len(problems) == 0:
		sc.lookAgain() // nothing reports whether a view over the table has come
		return false, nil
	case strict:
		return true, problems
	}
	sc.Catalog.reportOnce(ctx, c.Table, problems)
	return true, nil
}

// MayHaveRole notes that a statement may have changed the session's role. If rights are facts, the
// facts are then those of this session alone.
func (v *View) MayHaveRole(sql string) {
	if !lex.ContainsFold(sql, "role") && !lex.ContainsFold(sql, "authorization") {
		return
	}
	v.Rare.Set(link.RoleSet)
	if v.Catalog.Traits.RightsAreFacts {
		v.Rare.Set(link.RoleUnknown)
		v.Facts.ChangeRole()
	}
}

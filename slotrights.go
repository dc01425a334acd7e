package slotsql

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Who may read a counter has to read its slots, and who may update one has to write
// them: a role that has rights on the base table alone would meet the engine's refusal
// of a table that it has never named. So it is told when it connects, with the
// statements that grant what it lacks. A role that may do neither needs nothing.
//
// In a running program rights come and go. What a role lacks then the engine tells by
// itself, statement by statement; a slot table that has become invisible is still one.

// slotRights reads what the session's user lacks on the slot tables, by table.
func (c *view) slotRights(ctx context.Context, tables []checkedTable) (map[*rewrite.Table]dialect.SlotRights, error) {
	d, ok := c.catalog.dialect.(dialect.RightsReader)
	if !ok || c.catalog.beside || len(tables) == 0 {
		return nil, nil
	}
	var asked []dialect.SlotTable
	for _, t := range tables {
		slots, err := c.look(ctx)(t.table.Counter.SlotSchema, t.table.Counter.SlotTable)
		if err != nil {
			return nil, err
		}
		if slots == nil {
			_, hidden, err := d.Hidden(ctx, c.session(), t.table.Counter.SlotSchema, t.table.Counter.SlotTable)
			if err != nil {
				return nil, err
			} else if !hidden {
				continue
			}
		}
		views, err := c.viewsOver(ctx, t.table)
		if err != nil {
			return nil, err
		}
		asked = append(asked, dialect.SlotTable{Base: t.table, Slots: slots, Views: views})
	}
	if len(asked) == 0 {
		return nil, nil
	}
	rights, err := d.SlotRights(ctx, c.session(), asked)
	if err != nil {
		return nil, err
	}
	out := map[*rewrite.Table]dialect.SlotRights{}
	for i, r := range rights {
		t := asked[i].Base
		out[t], t.Counter.Ungranted, t.Counter.Blind = r, grants(r.Fold), r.Blind
	}
	return out, nil
}

func grants(lacks []dialect.Lack) (out []string) {
	for _, l := range lacks {
		out = append(out, l.Grant)
	}
	return out
}

// lacking says that rights are lacking on a table's slot table.
func (t *TableConfig) lacking(c *rewrite.Counter, lacks []dialect.Lack) []Problem {
	if len(lacks) == 0 {
		return nil
	}
	return t.locate([]Problem{{Message: fmt.Sprintf("table %s: the session's user lacks rights on slot table %s, for %s: run, as its owner: %s",
		clip(t.Name), clip(c.SlotTable), lacks[0].What, strings.Join(grants(lacks), "; "))}})
}

// unseen is slotTable for a slot table that the session's user does not see.
func (sc *schema) unseen(ctx context.Context, c checkedTable, r dialect.SlotRights, strict bool) (found bool, problems []Problem) {
	problems = c.config.lacking(c.table.Counter, r.Lacks)
	switch {
	case len(problems) == 0:
		sc.lookAgain() // nothing says that a view over the table has come
		return false, nil
	case strict:
		return true, problems
	}
	sc.catalog.reportOnce(ctx, c.table, problems)
	return true, nil
}

// mayHaveRole notes that a text may have given the session another role. Where rights
// are facts, they are then facts of this session alone.
func (c *view) mayHaveRole(text string) {
	if !rewrite.ContainsFold(text, "role") && !rewrite.ContainsFold(text, "authorization") {
		return
	}
	c.roleSet = true
	if c.catalog.traits.RightsAreFacts {
		c.otherRole, c.private, c.moved = true, true, true
	}
}

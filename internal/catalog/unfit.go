package catalog

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A configured table may change in a running program so that its slots cannot be added up: it has
// lost its key, say. If the slots hold nothing, every statement is right as it is, and the table
// is a plain one from then on. If they hold something, statements on the table are refused with
// the reason. DDL, which may repair the table, runs.

// holder returns a table of which nothing is slotted, or can be.
func (c *Catalog) holder(cfg *config.TableConfig, t, slots *schema.Table) *schema.Table {
	held := *t
	switch {
	case t.Counter != nil:
	case cfg.Layout == schema.LayoutShared:
		return nil // nothing refers to the table
	default:
		held.Counter = heldCounter(slots.Schema, slots.Name)
		held.Counter.SlotTable.NoForeignKey = true
	}
	return &held
}

// addUnfit takes a table into the facts that no longer fits its configuration, or its slot table.
func (sc *Schema) addUnfit(ctx context.Context, v *View, cfg *config.TableConfig, t *schema.Table, problems []config.Problem) error {
	slots, err := v.Look(ctx)(t.Schema, sc.Catalog.slotTableOf(cfg, t))
	if err != nil || slots == nil || slots.IsView {
		sc.remark(t, unfitting, AsConfigError(problems).Error())
		return err
	}
	held := sc.Catalog.holder(cfg, t, slots)
	if held == nil {
		return nil
	}
	some, err := holdsAnything(ctx, v, slots)
	if err != nil {
		return err
	}
	sc.lookAgain()
	held.Counter.SlotTable.Unfit, held.Counter.SlotTable.Holding = AsConfigError(problems).Error(), some
	held.Counter.Counters, held.Counter.Companions = nil, nil
	sc.hold(held)
	if some { // statements are refused
		sc.Catalog.reportOnce(ctx, t, problems)
	} else {
		sc.remark(t, unfitting, held.Counter.SlotTable.Unfit)
	}
	return nil
}

// holdsAnything reports whether a slot table holds any number that may be a count: one that is not
// 0, in a column that is not part of a key.
func holdsAnything(ctx context.Context, v *View, slots *schema.Table) (bool, error) {
	d := v.Catalog.Dialect
	var conds []string
	for i := range slots.Columns {
		c := &slots.Columns[i]
		inKey := false
		for _, u := range slots.Uniques {
			for _, k := range u.Columns {
				inKey = inKey || k == c.Name
			}
		}
		if Summable(c) && !inKey {
			conds = append(conds, d.Quote(c.Name)+" <> 0")
		}
	}
	if len(conds) == 0 {
		conds = []string{"1 = 1"}
	}
	rows, err := v.Own().Query(
		ctx,
		"SELECT 1 FROM "+d.Quote(slots.Schema)+"."+d.Quote(slots.Name)+" WHERE "+strings.Join(conds, " OR ")+" LIMIT 1",
	)
	return len(rows) > 0, err
}

// addReleased takes into the facts the table to which the foreign key of t's slot table refers,
// because it had t's name before: the engine would refuse to drop it.
func (sc *Schema) addReleased(t, slots *schema.Table) {
	s := sc.Catalog
	p := s.strayForeignKey(t, slots)
	if p == nil {
		return
	}
	held := &schema.Table{Schema: p.Schema, Name: p.Name, Counter: heldCounter(slots.Schema, slots.Name)}
	held.Counter.SlotTable.Release = s.Dialect.RefitSlots(t, slots, true)
	sc.hold(held)
	s.viewed([]string{p.Name})
}

// addAbandoned takes into the facts the table to which the slot table of a missing configured
// table refers, because that has been renamed. Its slots stay with it.
func (sc *Schema) addAbandoned(ctx context.Context, v *View, cfg *config.TableConfig) error {
	if cfg.Layout == schema.LayoutShared {
		return nil
	}
	slots, err := v.Look(ctx)(cfg.Schema, sc.Catalog.slotTableOf(cfg, &schema.Table{Name: cfg.Table}))
	if err != nil || slots == nil || len(slots.ForeignKeys.Parents) != 1 || slots.ForeignKeys.Parents[0].Name == cfg.Table {
		return err
	}
	p := slots.ForeignKeys.Parents[0]
	held := &schema.Table{Schema: p.Schema, Name: p.Name, Counter: heldCounter(slots.Schema, slots.Name)}
	held.Counter.SlotTable.Unfit = "its slot table belongs to the table's other name"
	sc.hold(held)
	sc.Catalog.viewed([]string{p.Name})
	return nil
}

// Holders implements rewrite.HolderCatalog.
func (sc *Schema) Holders() []*schema.Table {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.Unslotted.held
}

func (sc *Schema) hold(t *schema.Table) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.Unslotted.held = append(sc.Unslotted.held, t)
}

// reportOnce warns of what has become of a table.
func (c *Catalog) reportOnce(ctx context.Context, t *schema.Table, problems []config.Problem) {
	c.warnOnce(ctx, t, unfitting, AsConfigError(problems).Error())
}

const unfitting = "slotsql: a table no longer fits its configuration"

func (c *Catalog) warnOnce(ctx context.Context, t *schema.Table, what, why string) {
	id := t.Schema + "\x00" + t.Name + "\x00" + what + why
	c.mu.Lock()
	done := c.notes.reported[id]
	c.notes.reported[id] = true
	c.mu.Unlock()
	if !done {
		c.Log().WarnContext(ctx, what, "table", t.Name, "reason", why)
	}
}

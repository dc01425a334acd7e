package catalog

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

// A configured table may change in a running program such that its slots cannot be
// added up: it has lost its key, say. Every statement is right as it is if they hold
// nothing, so that the table is then plain. If they hold something, statements on
// it are refused, and say why; others, and DDL, which may put the table right, run.

// holder is a table that nothing is slotted of, or can be.
func (c *Catalog) holder(cfg *config.TableConfig, t, slots *rewrite.Table) *rewrite.Table {
	held := *t
	switch {
	case t.Counter != nil:
	case cfg.Layout == rewrite.LayoutShared:
		return nil // nothing refers to the table
	default:
		held.Counter = heldCounter(slots.Schema, slots.Name)
		held.Counter.SlotTable.NoForeignKey = true
	}
	return &held
}

// addUnfit takes a table into the facts that does not fit its configuration, or its
// slot table, any more.
func (sc *Schema) addUnfit(ctx context.Context, v *View, cfg *config.TableConfig, t *rewrite.Table, problems []config.Problem) error {
	slots, err := v.Look(ctx)(t.Schema, sc.Catalog.slotTableOf(cfg, t))
	if err != nil || slots == nil || slots.IsView {
		sc.Catalog.reportOnce(ctx, t, problems)
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
	sc.Catalog.reportOnce(ctx, t, problems)
	return nil
}

// holdsAnything reports whether any number in a slot table but those of keys and
// slots can be a count: it is not 0, in a column without a part in the primary key.
func holdsAnything(ctx context.Context, v *View, slots *rewrite.Table) (bool, error) {
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
	rows, err := v.Session().Query(
		ctx,
		"SELECT 1 FROM "+d.Quote(slots.Schema)+"."+d.Quote(slots.Name)+" WHERE "+strings.Join(conds, " OR ")+" LIMIT 1",
	)
	return len(rows) > 0, err
}

// addReleased takes a table into the facts that the foreign key of t's slot table refers
// to, since it has had t's name: the engine would refuse to drop it.
func (sc *Schema) addReleased(t, slots *rewrite.Table) {
	s := sc.Catalog
	p := s.strayForeignKey(t, slots)
	if p == nil {
		return
	}
	held := &rewrite.Table{Schema: p.Schema, Name: p.Name, Counter: heldCounter(slots.Schema, slots.Name)}
	held.Counter.SlotTable.Release = s.Dialect.RefitSlots(t, slots, true)
	sc.hold(held)
	s.viewed([]string{p.Name})
}

// addAbandoned takes the table into the facts that the slot table of a configured one
// refers to which is not there, since it has another name now. Its slots go with it.
func (sc *Schema) addAbandoned(ctx context.Context, v *View, cfg *config.TableConfig) error {
	if cfg.Layout == rewrite.LayoutShared {
		return nil
	}
	slots, err := v.Look(ctx)(cfg.Schema, sc.Catalog.slotTableOf(cfg, &rewrite.Table{Name: cfg.Table}))
	if err != nil || slots == nil || len(slots.ForeignKeys.Parents) != 1 || slots.ForeignKeys.Parents[0].Name == cfg.Table {
		return err
	}
	p := slots.ForeignKeys.Parents[0]
	held := &rewrite.Table{Schema: p.Schema, Name: p.Name, Counter: heldCounter(slots.Schema, slots.Name)}
	held.Counter.SlotTable.Unfit = "its slot table belongs to the table's other name"
	sc.hold(held)
	sc.Catalog.viewed([]string{p.Name})
	return nil
}

// Holders implements rewrite.HolderCatalog.
func (sc *Schema) Holders() []*rewrite.Table {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.Unslotted.held
}

func (sc *Schema) hold(t *rewrite.Table) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.Unslotted.held = append(sc.Unslotted.held, t)
}

// reportOnce warns of what has become of a table.
func (c *Catalog) reportOnce(ctx context.Context, t *rewrite.Table, problems []config.Problem) {
	c.warnOnce(ctx, t, "slotsql: a table no longer fits its configuration", AsConfigError(problems).Error())
}

func (c *Catalog) warnOnce(ctx context.Context, t *rewrite.Table, what, why string) {
	id := t.Schema + "\x00" + t.Name + "\x00" + what + why
	c.mu.Lock()
	done := c.notes.reported[id]
	c.notes.reported[id] = true
	c.mu.Unlock()
	if !done {
		c.Log().WarnContext(ctx, what, "table", t.Name, "reason", why)
	}
}

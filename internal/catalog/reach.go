package catalog

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement may name a counter table of another namespace than its session's: after USE, in
// another schema, behind a temporary table. A table that matches a configured one, and has a slot
// table, is a counter table wherever it is.

// reachHome takes the counter tables of the namespace that connections open with into the facts of
// another one, so that the planner looks up every qualified use of such a name.
func (sc *Schema) reachHome(ctx context.Context, v *View) error {
	sc.Catalog.mu.Lock()
	home := sc.Catalog.Home.Facts
	sc.Catalog.mu.Unlock()
	if home == nil {
		return nil
	}
	for _, t := range home.Counters() {
		if err := sc.reach(ctx, v, t.Schema, t.Name); err != nil {
			return err
		}
	}
	return nil
}

// reach takes the table with that name into the facts if it is a counter table.
func (sc *Schema) reach(ctx context.Context, v *View, schema, name string) error {
	look := v.Look(ctx)
	t, err := look(schema, name)
	if err != nil || t == nil || t.IsView || t.Temporary || sc.counter(t) != nil || sc.holds(t) {
		return err
	}
	s := sc.Catalog
	for _, cfg := range s.closest() {
		if cfg.Table != t.Name && !s.Dialect.SameTable(ast.Ident{Name: cfg.Table}, t.Name) ||
			cfg.Schema != "" && cfg.Schema != t.Schema {
			continue
		}
		problems, counter := checkTableAs(cfg, t, s.Dialect.NameRules(), running)
		slots, err := look(t.Schema, s.slotTableOf(cfg, t))
		if err != nil || slots == nil {
			return err // without slots the plain table is exact
		}
		if len(problems) == 0 {
			t.Counter = counter
			counter.Counted = slices.Clone(counter.Counters)
			makePassive(cfg, t)
			if !isLeftOver(t, slots) {
				return nil
			}
			problems = cfg.Locate(sc.checkRunning(CheckedTable{cfg, t}, slots))
		}
		if len(problems) > 0 {
			return sc.addUnfit(ctx, v, cfg, t, problems)
		}
		return sc.add(ctx, v, t)
	}
	return nil
}

func (c *Catalog) slotTableOf(cfg *config.TableConfig, t *schema.Table) string {
	if cfg.SlotTable != "" {
		return cfg.SlotTable
	}
	return c.Dialect.NameRules().SlotTable(t.Name)
}

// counter returns the counter table of the schema that t is, or nil.
func (sc *Schema) counter(t *schema.Table) *schema.Table {
	for _, c := range sc.Counters() {
		if c.Schema == t.Schema && c.Name == t.Name {
			return c
		}
	}
	return nil
}

// holds reports whether t is one of the tables that only have a slot table.
func (sc *Schema) holds(t *schema.Table) bool {
	return slices.ContainsFunc(sc.Holders(), func(h *schema.Table) bool { return h.Schema == t.Schema && h.Name == t.Name })
}

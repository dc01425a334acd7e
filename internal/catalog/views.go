package catalog

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A view over a counter table reads base values inside the database, where slotsql cannot rewrite
// anything; so does a routine, which only the configuration knows. So its name counts as a mention
// of the tables that it reads, and a statement that names it drains.

// LearnViews takes the views over a counter table into the facts.
func (sc *Schema) LearnViews(ctx context.Context, v *View, t *schema.Table) error {
	if len(t.Counter.Counters) == 0 {
		return nil
	}
	names, err := v.viewsOver(ctx, t)
	if err != nil {
		return err
	}
	sc.AddViews(t, names)
	return nil
}

// AddViews takes the views over a counter table into the facts, by their names, and what else
// reaches its rows.
func (sc *Schema) AddViews(t *schema.Table, names []string) {
	reached := reachedBy(t)
	for _, name := range names {
		reached = append(reached, rewrite.View{Name: name, Tables: []*schema.Table{t}})
	}
	sc.mu.Lock()
	sc.views = append(sc.views, reached...)
	sc.mu.Unlock()
	for _, r := range reached {
		names = append(names, r.Name)
	}
	sc.Catalog.viewed(names)
}

// reachedBy returns what else than the table's own name and its views a statement may name to
// reach its rows: its partitions, the tables above it, and its routines.
func reachedBy(t *schema.Table) (out []rewrite.View) {
	for _, name := range t.Storage.Parts {
		out = append(out, rewrite.View{Name: name, Tables: []*schema.Table{t}, Part: true})
	}
	for _, above := range t.Storage.Ancestors {
		out = append(out, rewrite.View{Name: above.Name, Tables: []*schema.Table{t}, Ancestor: true})
	}
	for _, name := range t.Counter.Options.Routines {
		out = append(out, rewrite.View{Name: name, Tables: []*schema.Table{t}, Routine: true})
	}
	return out
}

// viewed is what views may read of a table.
func viewed(t *schema.Table) dialect.Viewed {
	v := dialect.Viewed{Table: t}
	if t.Counter != nil {
		v.Routines = t.Counter.Options.Routines
	}
	return v
}

// routinesOf returns the names, without their schemas, of the routines that a table's
// configuration names.
func routinesOf(cfg *config.TableConfig) (names []string) {
	for _, written := range cfg.Routines {
		names = append(names, viewName(written).Name)
	}
	return names
}

// Views tells the planner of the views over counter tables.
func (sc *Schema) Views() []rewrite.View {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.views
}

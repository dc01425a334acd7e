package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// A view over a counter table reads base values inside the database, where no
// text of ours reaches; so does a routine, of which only the configuration
// knows. Its name therefore counts as a mention of the tables
// that it reads, and a statement that names it is drained for.

// LearnViews takes the views over a counter table into the facts.
func (sc *Schema) LearnViews(ctx context.Context, v *View, t *rewrite.Table) error {
	if len(t.Counter.Counters) == 0 {
		return nil
	}
	names, err := v.viewsOver(ctx, t)
	if err != nil {
		return err
	}
	sc.mu.Lock()
	for _, name := range t.Parts {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}, Part: true})
	}
	for _, name := range names {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}})
	}
	for _, name := range t.Counter.Routines {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}, Routine: true})
	}
	sc.mu.Unlock()
	sc.Catalog.viewed(slices.Concat(names, t.Parts, t.Counter.Routines))
	return nil
}

// Views tells the planner of the views over counter tables.
func (sc *Schema) Views() []rewrite.View {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.views
}

// viewed adds names to those by which a statement may concern a counter table.
func (c *Catalog) viewed(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	if p := c.ViewNames.Load(); p != nil {
		all = slices.Clone(*p)
	}
	before := len(all)
	for _, name := range names {
		if name = strings.ToLower(rewrite.Spelled(name)); !slices.Contains(all, name) {
			all = append(all, name)
			c.wideNames.Store(c.wideNames.Load() || !ascii(name))
		}
	}
	if len(all) > before {
		c.nameViews(all)
		c.NewNames()
	}
}

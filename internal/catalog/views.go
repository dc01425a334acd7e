package catalog

import (
	"context"
	"slices"

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
	for _, name := range t.Storage.Parts {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}, Part: true})
	}
	for _, name := range names {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}})
	}
	for _, name := range t.Counter.Options.Routines {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}, Routine: true})
	}
	sc.mu.Unlock()
	sc.Catalog.viewed(slices.Concat(names, t.Storage.Parts, t.Counter.Options.Routines))
	return nil
}

// Views tells the planner of the views over counter tables.
func (sc *Schema) Views() []rewrite.View {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.views
}

package catalog

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A function in the database may set the search path of the session that calls it. So a statement
// that names such a function may do what SET search_path does, and the tables that names mean are
// looked up again before the next statement. The functions' names are read with the facts, and
// only added to.

// movers are the names of such functions.
type movers struct {
	names []string
	index *lex.NameIndex
}

// learnMovers adds the functions that the database has.
func (v *View) learnMovers(ctx context.Context) error {
	d, ok := v.Catalog.Dialect.(dialect.NamespaceMover)
	if !ok {
		return nil
	}
	names, err := d.Movers(ctx, v.Own())
	if err != nil {
		return err
	}
	c := v.Catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.Names.movers.Load(); before != nil {
		names = append(names, before.names...)
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == len(before.names) {
			return nil
		}
	}
	if len(names) > 0 {
		c.Names.movers.Store(&movers{names, lex.NewNameIndex(names)})
		c.Hooks.NewNames()
	}
	return nil
}

// Moves reports whether a statement names a function that may set the search path.
func (n *Names) Moves(sql string) bool {
	m := n.movers.Load()
	return m != nil && m.index.In(sql)
}

// MayMove reports whether a statement that creates a function may create one that sets the search
// path.
func (n *Names) MayMove(sql string) bool {
	return lex.SetsPath(sql) || n.Moves(sql)
}

// Moves implements rewrite.MovingCatalog.
func (sc *Schema) Moves(sql string) bool { return sc.Catalog.Names.Moves(sql) }

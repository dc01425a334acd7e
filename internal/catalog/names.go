package catalog

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// Names are the names by which a statement may concern a configured table: its own, and those of
// the views, partitions and routines that reach it.
type Names struct {
	index   atomic.Pointer[lex.NameIndex]
	wide    atomic.Bool              // one of them has characters beyond ASCII
	Views   atomic.Pointer[[]string] // those that are not a table's own, lower-case
	ViewDDL atomic.Bool              // some statement has created or changed a view, or a mover
	movers  atomic.Pointer[movers]   // functions that may set the search path; nil: none are known
}

// widen notes names with characters beyond ASCII.
func (n *Names) widen(names []string) {
	if slices.ContainsFunc(names, func(name string) bool { return !ascii(name) }) {
		n.wide.Store(true)
	}
}

// Mentions reports whether a statement can concern a configured table at all.
func (c *Catalog) Mentions(sql string) bool {
	return c.Names.index.Load().In(sql) || lex.EscapedNames(c.Dialect.LexRules(), sql)
}

// tableNames are the configured tables', as they are configured.
func (c *Catalog) tableNames() []string {
	names := make([]string, len(c.Tables))
	for i, t := range c.Tables {
		names[i] = t.Table
	}
	return names
}

// viewed adds names to those by which a statement may concern a counter table.
func (c *Catalog) viewed(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	if p := c.Names.Views.Load(); p != nil {
		all = slices.Clone(*p)
	}
	before := len(all)
	for _, name := range names {
		if name = strings.ToLower(lex.Spelled(name)); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) > before {
		c.Names.widen(all[before:])
		c.Names.index.Store(lex.NewNameIndex(slices.Concat(all, c.tableNames())))
		c.Names.Views.Store(&all)
		c.Hooks.NewNames()
	}
}

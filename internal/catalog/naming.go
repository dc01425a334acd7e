package catalog

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.NamingCatalog = (*Schema)(nil)

// naming is the index of the names that a schema's tables and views have. It is made when
// it is needed, and again when there are more of them.
type naming struct {
	tables [3][]*schema.Table // counter tables, holders, tables without slots
	views  []rewrite.View
	names  *lex.NameIndex // of all of them, in this order
}

// Named implements rewrite.NamingCatalog.
func (sc *Schema) Named(sql string) rewrite.Named {
	n := sc.index()
	var found []int
	n.names.Find(sql, func(i int) bool {
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
		return true
	})
	slices.Sort(found)
	var out rewrite.Named
	lists := [3]*[]*schema.Table{&out.Counters, &out.Holders, &out.Grouped}
	var views []int
	for _, i := range found {
		list := 0
		for ; list < len(lists) && i >= len(n.tables[list]); list++ {
			i -= len(n.tables[list])
		}
		if list == len(lists) {
			views = append(views, i)
		} else {
			*lists[list] = append(*lists[list], n.tables[list][i])
		}
	}
	for _, i := range views {
		out.Views = append(out.Views, n.views[i])
		for _, t := range n.views[i].Tables {
			if !slices.Contains(out.Counters, t) {
				out.Counters = append(out.Counters, t)
			}
		}
	}
	return out
}

// MayName reports whether a string of a statement may name something that the statement's
// plan depends on.
func (sc *Schema) MayName(s string) bool {
	return sc.index().names.In(s) || sc.Catalog.Names.MayMove(s)
}

// index returns the index of the names that there are.
func (sc *Schema) index() *naming {
	sc.mu.RLock()
	tables, views := [3][]*schema.Table{sc.Tables, sc.Unslotted.held, sc.Unslotted.grouped}, sc.views
	sc.mu.RUnlock()
	if n := sc.naming.Load(); n != nil && len(n.views) == len(views) &&
		len(n.tables[0]) == len(tables[0]) && len(n.tables[1]) == len(tables[1]) && len(n.tables[2]) == len(tables[2]) {
		return n // facts are only added
	}
	var names []string
	for _, list := range tables {
		for _, t := range list {
			names = append(names, t.Name)
		}
	}
	for _, v := range views {
		names = append(names, v.Name)
	}
	n := &naming{tables: tables, views: views, names: lex.NewNameIndex(names)}
	sc.naming.Store(n)
	return n
}

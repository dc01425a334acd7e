package rewrite

import (
	"strconv"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// keyGrouping looks at the columns that a block groups by.
type keyGrouping struct {
	b *blockReader
	p *planning
}

func keyGroupingOf(b *blockReader) keyGrouping { return keyGrouping{b, b.p} }

// byKey finds a block that may rely on what PostgreSQL knows of a table and
// not of a query: that columns which are not grouped have one value once the
// primary key is grouped.
func (kg keyGrouping) byKey() error {
	if len(kg.p.names.Derived) == 0 || !kg.p.d.Traits().GroupsByKey || len(kg.b.q.GroupBy) == 0 {
		return nil
	}
	for _, x := range kg.b.sc.Bindings {
		if x.Derived && kg.keyGrouped(x) && !kg.onlyGrouped(x) {
			return names.Opaque(kg.p.names.Derived[x.Source] + ", and a derived table has no primary key to group by")
		}
	}
	return nil
}

// groupedColumns lists the columns of x that GROUP BY names, by themselves; known is
// false when there may be more.
func (kg keyGrouping) groupedColumns(x *names.Binding) (columns map[string]bool, known bool) {
	columns, known = map[string]bool{}, true
	var entry func(e *ast.Expr)
	entry = func(e *ast.Expr) {
		switch {
		case e == nil:
		case e.Kind == ast.Paren || e.Kind == ast.Opaque && (e.Op == "" || e.Op == "row"): // ROLLUP (...), (a, b)
			for _, a := range e.Args {
				entry(a)
			}
		case e.Kind == ast.Number:
			n, err := strconv.Atoi(kg.p.consts.noted(kg.p.src.sql[e.Start:e.End]))
			if err != nil || n < 1 || n > len(kg.b.q.Items) {
				known = false
				return
			}
			for _, it := range kg.b.q.Items[:n] {
				known = known && it.Expr != nil && it.Expr.Kind != ast.Star
			}
			if c := kg.itemColumn(x, kg.b.q.Items[n-1].Expr); c != "" {
				columns[c] = true
			}
		case e.Kind == ast.ColumnRef:
			if c := kg.columnIn(x, e.Name); c != "" {
				columns[c] = true
				return
			}
			for _, it := range kg.b.q.Items { // an alias
				if c := kg.itemColumn(x, it.Expr); c != "" && len(e.Name) == 1 && it.Alias != nil && kg.p.names.SameLabel(e.Name[0], *it.Alias) {
					columns[c] = true
				}
			}
		}
	}
	for _, g := range kg.b.q.GroupBy {
		entry(g)
	}
	return columns, known
}

// itemColumn returns the column of x that an item is, or "".
func (kg keyGrouping) itemColumn(x *names.Binding, e *ast.Expr) string {
	if e == nil {
		return ""
	}
	if e = ast.Unparen(e); e.Kind != ast.ColumnRef {
		return ""
	}
	return kg.columnIn(x, e.Name)
}

// keyGrouped reports whether GROUP BY may name the whole primary key of x.
func (kg keyGrouping) keyGrouped(x *names.Binding) bool {
	columns, known := kg.groupedColumns(x)
	for _, u := range x.Table.Uniques {
		if !u.Primary {
			continue
		}
		for _, c := range u.Columns {
			if known && !columns[c] {
				return false
			}
		}
		return true
	}
	return false
}

// onlyGrouped reports whether every column of x which the block reads outside of
// aggregates is itself one that GROUP BY names. It errs on the side of no.
func (kg keyGrouping) onlyGrouped(x *names.Binding) bool {
	columns, ok := kg.groupedColumns(x)
	look := func(e *ast.Expr) bool {
		switch e.Kind {
		case ast.Subquery, ast.Star:
			ok = ok && e.Kind == ast.Star && len(e.Name) == 0
		case ast.ColumnRef:
			if c := kg.columnIn(x, e.Name); c != "" && !columns[c] {
				ok = false
			}
		}
		return !e.Aggregate
	}
	for _, it := range kg.b.q.Items {
		if it.Expr != nil && it.Expr.Kind == ast.Star {
			return false
		}
		it.Expr.Walk(look)
	}
	for _, list := range [][]*ast.Expr{{kg.b.q.Having}, kg.b.q.OrderBy, kg.b.q.DistinctOn, kg.b.q.Windows} {
		for _, e := range list {
			e.Walk(look)
		}
	}
	return ok
}

// columnIn returns the stored name of x's column that a reference may mean, or
// "".
func (kg keyGrouping) columnIn(x *names.Binding, name []ast.Ident) string {
	if len(name) > 1 && !kg.p.names.SameLabel(name[len(name)-2], x.Label) {
		return ""
	}
	for i, l := range kg.p.names.Labels(x) {
		if kg.p.names.SameLabel(name[len(name)-1], l) {
			return x.Table.Columns[i].Name // none is hidden: underivable
		}
	}
	return ""
}

package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
)

// This file says which blocks make groups, and what GROUP BY names.

// groups reports whether a block's rows are made of groups of others.
// An Aggregate may be a window function, which makes none.
func (p *planning) groups(q *ast.Select) bool {
	if len(q.GroupBy) > 0 || q.Having != nil {
		return true
	}
	found := false
	for _, it := range q.Items {
		it.Expr.Walk(func(e *ast.Expr) bool {
			found = found || e.Aggregate
			return !found
		})
	}
	return found && !p.windowed()
}

// windowFunctions is whether a statement may have some. It is looked for once: a statement may hold
// very many blocks.
type windowFunctions byte

const (
	windowsUnknown windowFunctions = iota
	windowsNone
	windowsPerhaps
)

// windowed reports whether the statement may have window functions.
func (p *planning) windowed() bool {
	if p.queries.windows == windowsUnknown {
		p.queries.windows = windowsNone
		if p.src.hasWord("OVER") {
			p.queries.windows = windowsPerhaps
		}
	}
	return p.queries.windows == windowsPerhaps
}

// groupingSets reports whether the statement has ROLLUP, CUBE or GROUPING SETS.
func groupingSets(src *source) bool {
	return src.hasWord("ROLLUP") || src.hasWord("CUBE") || src.hasWord("SETS")
}

// computesDerived reports whether an entry of GROUP BY is more than a name, and may name a counter of a derived form, so that
// MariaDB would not know it again, see keptSeparate.
func (b *blockReader) computesDerived(e *ast.Expr) bool {
	if !b.p.d.Traits().StrictGroups || e == nil || ast.Unparen(e).Kind == ast.ColumnRef {
		return false
	}
	found := false
	for _, x := range b.sc.Bindings {
		e.Walk(func(e *ast.Expr) bool {
			found = found || x.Derived && e.Kind == ast.ColumnRef && x.Table.IsSlotted(b.columnIn(x, e.Name))
			return !found
		})
	}
	return found
}

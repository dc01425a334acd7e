package rewrite

import (
	"strconv"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
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

func (b *blockReader) namesCounter(x *names.Binding, e *ast.Expr) bool {
	c := b.columnIn(x, e.Name)
	return c != "" && x.Table.IsSlotted(c)
}

// computes reports whether e is more than a name, and may name a counter of x.
func (b *blockReader) computes(e *ast.Expr, x *names.Binding) bool {
	if e == nil || ast.Unparen(e).Kind == ast.ColumnRef {
		return false
	}
	found := false
	e.Walk(func(e *ast.Expr) bool {
		found = found || e.Kind == ast.ColumnRef && b.namesCounter(x, e)
		return !found
	})
	return found
}

// position returns the number of the result column that is written as the
// entry e of GROUP BY is, or 0. It means the same there: neither place looks at
// aliases before columns. Two arguments are two expressions.
func (b *blockReader) position(e *ast.Expr) int {
	src := b.p.src
	if src.large || groupingSets(b.p.src) {
		return 0
	}
	sql := b.p.consts.noted(src.sql[e.Start:e.End])
	for i, t := range src.tokens {
		switch {
		case t.Start == e.Start && !src.is(i-1, "BY") && !src.is(i-1, ","):
			return 0 // (1) is no position
		case t.Kind == lex.Param && t.Start >= e.Start && t.End <= e.End:
			return 0
		}
	}
	for i, it := range b.q.Items {
		switch {
		case it.Expr == nil || it.Expr.Kind == ast.Star:
			return 0
		case b.p.consts.noted(src.sql[it.Expr.Start:it.Expr.End]) == sql:
			return i + 1
		}
	}
	return 0
}

// byPosition writes the position of a result column for an expression that
// MariaDB would not know again, see keptSeparate.
func (b *blockReader) byPosition(e *ast.Expr) bool {
	if !b.p.d.Traits().StrictGroups {
		return false
	}
	for _, x := range b.sc.Bindings {
		if !x.Derived || !b.computes(e, x) {
			continue
		}
		at := b.position(e)
		if at > 0 {
			b.r.edits = append(b.r.edits, edit{e.Span, strconv.Itoa(at)})
		}
		return at > 0
	}
	return false
}

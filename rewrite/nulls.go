package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file is about two ways in which MariaDB loses a NULL. Both begin with
// an expression that it takes for one which is never NULL, though it is, and
// show once the value is kept in a temporary table, which then has no NULL to
// keep.

// resultColumn writes a total as a column of the result of block; nil is that of
// a derived form, which is kept apart where it matters.
//
// A window computes over a temporary table. It may have a column of a query
// there that is merged into a join, on the missing side of an outer join. That
// a column of a table may be NULL there MariaDB knows; of an expression it does
// not, where the outer join holds another join in turn, and gives 0, or the
// value of the row before. So the total of a column that is never NULL is
// written as one that may be.
func (r *reader) resultColumn(t *schema.Table, q, column string, block *ast.Select) string {
	many := block == nil || len(block.GroupBy) > 0 || block.Distinct || len(block.DistinctOn) > 0 ||
		block.Where == nil && len(block.Limit) == 0
	total := r.total(t, q, column, many)
	around := r.p.d.Traits().MaybeNull
	if around[0] == "" || block == nil || block == r.p.main() || t.Column(column).Nullable || !r.p.windowed() || !extends(r.p.src) {
		return total
	}
	return around[0] + total + around[1]
}

// extends reports whether the statement may have an outer join. Over the missing side
// of one COUNT(column) OVER also counts a merged query's column that is never
// NULL in its table, so that derived forms are kept apart.
func extends(src *source) bool { return src.hasWord("LEFT") || src.hasWord("RIGHT") }

// quantified reports whether e compares with ANY or ALL by order.
//
// Such a comparison may be NULL although neither side is: MariaDB asks the left
// side alone. Whether it keeps the value in a temporary table depends on the
// rest of the statement: to order by something that has a query inside, as
// totals have, it does. As a condition of WHERE and ON the comparison is exact: nothing is kept.
func quantified(e *ast.Expr) bool {
	if e.Kind != ast.Opaque || len(e.Args) != 2 || e.Args[1] == nil || e.Args[1].Kind != ast.Subquery {
		return false
	}
	switch e.Op {
	case "<", "<=", ">", ">=":
		return true
	}
	return false
}

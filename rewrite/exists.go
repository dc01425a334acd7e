package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// keepExists keeps EXISTS with a query that compares something with a total of a block around it from
// becoming IN, which MariaDB makes of it and may crash on: a block with HAVING stays as it is.
// A condition of its own is safe, and it may be a join.
func (b *blockReader) keepExists(e *ast.Expr) {
	q := e.Query
	if e.Op != "EXISTS" || !b.p.d.Traits().Defects.Has(ImpossibleExists) || q.Where == nil || q.Having != nil || b.p.groups(q) {
		return
	}
	isPart := func(c *ast.Expr) bool { return ast.Unparen(c) == e }
	if b.q != nil && b.q.Where != nil && slices.ContainsFunc(ast.Conjuncts(b.q.Where, nil), isPart) {
		return
	}
	at := q.Where.End
	b.r.edits = append(b.r.edits, edit{ast.At(at), " HAVING TRUE"})
}

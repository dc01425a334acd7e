package rewrite

import "slices"

// keepExists keeps EXISTS with a query that compares something with a total of a block around it from
// becoming IN, which MariaDB makes of it and may crash on: a block with HAVING stays as it is.
// A condition of its own is safe, and it may be a join.
func (b *blockReader) keepExists(e *Expr) {
	q := e.Query
	if e.Op != "EXISTS" || !b.d.Traits().Defects.Has(ImpossibleExists) || q.Where == nil || q.Having != nil || b.groups(q) {
		return
	}
	if b.q != nil && b.q.Where != nil && slices.ContainsFunc(conjuncts(b.q.Where, nil), func(c *Expr) bool { return unparen(c) == e }) {
		return
	}
	at := q.Where.End
	b.edits = append(b.edits, edit{Span{at, at}, " HAVING TRUE"})
}

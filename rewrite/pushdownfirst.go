package rewrite

// The first rows of a query in FROM, or of a WITH query:
//
//	SELECT d.id FROM (SELECT id, views FROM posts WHERE state = 1) AS d ORDER BY d.views DESC LIMIT 10
//
// The block around has no other source and no condition, and each of its rows is one of the query's. So its first
// rows are the query's, and ORDER BY and LIMIT, which stay where they are, give the query candidates as its own would.

// takesFirstRows reports whether a block takes the first rows of its only source, whatever they are.
func (r *reader) takesFirstRows(sc *scope, q *Select) bool {
	if len(sc.bindings) != 1 || q.Where != nil || len(q.OrderBy) == 0 || len(q.Limit) == 0 || q.Distinct || q.Table || q.Lock || q.Into ||
		len(q.Operands)+len(q.Values)+len(q.DistinctOn)+len(q.GroupBy)+len(q.Windows) > 0 || q.Having != nil || r.windowed() {
		return false
	}
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind != Star && (r.volatile(sc, it.Expr) != "" || hasAggregate(it.Expr)) {
			return false // a function may return no row, or several
		}
	}
	for _, e := range q.OrderBy {
		if hasAggregate(e) {
			return false
		}
	}
	return len(q.Items) > 0
}

func hasAggregate(e *Expr) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Aggregate
		return !found
	})
	return found
}

// orderedBy is the block whose ORDER BY and LIMIT choose the first rows: this one, or the one around it.
func (c *candidates) orderedBy() *Select {
	list := c.pushedDown[c.q]
	if len(list) != 1 || list[0].first == nil || len(c.q.OrderBy) > 0 || !c.lone {
		return c.q
	}
	c.around = &list[0]
	return list[0].first
}

// asIs writes the column of the source that a name around the block means, by its base value; "" if it means something else.
func (c *candidates) asIs(name []Ident) string {
	e := c.item(name)
	if e == nil {
		return ""
	}
	if e = unparen(e); e.Kind != ColumnRef || !c.ownColumn(e.Name) {
		return ""
	}
	column, ok := columnNamed(c.planning, c.b.table, e.Name[len(e.Name)-1])
	if !ok {
		return ""
	}
	return c.base(c.b.table.Column(column))
}

package rewrite

// This file says which blocks make groups.

// groups says whether a block's rows are made of groups of others.
// An Aggregate may be a window function, which makes none.
func (p *planning) groups(q *Select) bool {
	if len(q.GroupBy) > 0 || q.Having != nil {
		return true
	}
	found := false
	for _, it := range q.Items {
		it.Expr.Walk(func(e *Expr) bool {
			found = found || e.Aggregate
			return !found
		})
	}
	return found && !p.windowed()
}

// windowed says that the statement may have window functions.
func (p *planning) windowed() bool {
	if p.windows == 0 { // looked for once: a text may hold very many blocks
		p.windows = 1
		if p.src.hasWord("OVER") {
			p.windows = 2
		}
	}
	return p.windows == 2
}

// groupingSets says that the statement has ROLLUP, CUBE or GROUPING SETS.
func (p *planning) groupingSets() bool {
	return p.src.hasWord("ROLLUP") || p.src.hasWord("CUBE") || p.src.hasWord("SETS")
}

// groupsComputed says that the block groups by an expression, one that is no
// name, that may name a counter of x.
func (r *reader) groupsComputed(sc *scope, x *binding) bool {
	b := blockReader{r, sc, nil}
	found := false
	for _, g := range sc.groups {
		if g == nil || unwrapped(g).Kind == ColumnRef {
			continue
		}
		g.Walk(func(e *Expr) bool {
			if e.Kind == ColumnRef {
				c := b.columnIn(x, e.Name)
				found = found || c != "" && x.table.IsSlotted(c)
			}
			return !found
		})
	}
	return found
}

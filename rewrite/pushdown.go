package rewrite

import "github.com/slotsql/slotsql/rewrite/lex"

// A query in FROM, or a WITH query, whose result is filtered by a counter around it:
//
//	SELECT COUNT(*) FROM (SELECT id, views FROM posts) AS d WHERE d.views > 100
//
// Rows of the inner block that do not satisfy the condition are in no row of the outer block's
// result. Without them an outer join may have rows of its other side with NULLs, which do not
// satisfy the condition either. So the condition can be pushed down: it bounds the counter of the
// inner block as one of its own would, and gives it candidates. The condition itself stays where
// it is.
//
// A block that takes the first rows of such a query does the same (pushdownfirst.go).

// A pushedDown condition is one of the block around a query.
type pushedDown struct {
	cond   *Expr    // nil if the block takes the query's first rows
	source *binding // the query in FROM
	sc     *scope   // of the block around it
	first  *Select  // that block, if it takes the query's first rows
}

// pushDown notes, for the queries in a block's FROM clause, the conditions of the block on their columns.
func (r *reader) pushDown(parent *scope, q *Select) {
	if q.Where == nil && len(q.OrderBy)+len(q.Limit) == 0 || len(q.With) == 0 && !hasDerived(q.From) {
		return
	}
	sc := r.newScope(parent, nil, q.From)
	first := r.takesFirstRows(sc, q)
	if q.Where == nil && !first {
		return
	}
	for _, b := range sc.bindings {
		named := len(b.source.Name) > 0
		if b.query == nil || !plainRows(b.query) || named && (len(q.With) == 0 || q.With[0].Recursive || !r.namedOnce(b.source.Name[0])) {
			continue
		}
		if r.pushedDown == nil {
			r.pushedDown = map[*Select][]pushedDown{}
		}
		if first {
			r.pushedDown[b.query] = append(r.pushedDown[b.query], pushedDown{source: b, sc: sc, first: q})
			continue
		}
		for _, e := range conjuncts(q.Where, nil) {
			if r.work++; r.work > maxWork {
				return
			}
			r.pushedDown[b.query] = append(r.pushedDown[b.query], pushedDown{cond: e, source: b, sc: sc})
		}
	}
}

func hasDerived(from []*Source) bool {
	for _, s := range from {
		if s != nil && (s.Select != nil || hasDerived([]*Source{s.Left, s.Right})) {
			return true
		}
	}
	return false
}

// plainRows reports whether each row of a query is one of its sources' rows, and depends on
// no other.
func plainRows(q *Select) bool {
	return len(q.Operands) == 0 && len(q.Values) == 0 && len(q.DistinctOn) == 0 && len(q.GroupBy) == 0 && q.Having == nil &&
		len(q.Windows) == 0 && len(q.Limit) == 0 && len(q.Items) > 0 && !q.Table && !q.Lock && !q.Into
}

// namedOnce reports whether a WITH query is certainly named in one FROM clause only: the
// word occurs where the query is defined, there, and before the names of its columns.
func (r *reader) namedOnce(name Ident) bool {
	n := 0
	for i, t := range r.src.tokens {
		word := r.src.sql[t.Start:t.End]
		if t.Kind == lex.Word && equalFold(word, name.Name) && !r.src.is(i+1, ".") {
			n++
		}
		if t.Kind != lex.Word && t.Kind != lex.Operator && len(word) == len(name.Name)+2 && equalFold(word[1:len(word)-1], name.Name) {
			return false
		}
	}
	r.work += len(r.src.tokens)
	return n == 2 && !name.Quoted
}

// pushedDownWindows finds the windows of conditions around the block.
func (c *candidates) pushedDownWindows() {
	list := c.pushedDown[c.q]
	if len(list) > 0 && list[0].first != nil {
		return
	}
	if len(list) == 0 || c.aggregated() || c.windowed() || !c.stableItems() {
		c.besides = c.besides || len(list) > 0
		return
	}
	if c.q.Where == nil {
		clause, ok := c.fromClause()
		if !ok {
			return
		}
		c.tail = clause.End
	}
	for i := range list {
		c.around = &list[i]
		n, e := len(c.windows), unparen(list[i].cond)
		if !c.compared(e) || len(c.windows) == n || len(c.windows) > maxWindows {
			c.windows = c.windows[:n]
			c.besides = true
			continue
		}
		if near := c.windows[n].implied; near != "" {
			c.near, c.nearPlain = append(c.near, near), append(c.nearPlain, near)
			continue
		}
		var edits []edit
		e.Walk(func(x *Expr) bool {
			if col := c.counter(x); col != nil && x.Kind == ColumnRef {
				edits = append(edits, edit{x.Span, c.base(col)})
			}
			return true
		})
		near := "(" + c.tp.mark(c.src.cutEdited(e.Span, edits)) + ")"
		c.near, c.nearPlain = append(c.near, near), append(c.nearPlain, near)
	}
	c.around = nil
}

// item returns the expression of the block that a name around it means; nil if that is not
// certain.
func (c *candidates) item(name []Ident) *Expr {
	a := c.around
	column := name[len(name)-1]
	switch {
	case len(name) > 2 || len(name) == 2 && !c.sameLabel(name[0], a.source.label):
		return nil
	case len(name) == 1:
		for _, b := range a.sc.bindings {
			c.work++
			if b == a.source {
				continue
			}
			if has, err := c.hasColumn(b, column); err != nil || has != no {
				return nil
			}
		}
	}
	var found *Expr
	for i, it := range c.q.Items {
		c.work++
		x := it.Expr
		switch {
		case x == nil:
			return nil
		case x.Kind == Star && len(a.source.columns) > 0:
			return nil
		case x.Kind == Star:
			if has, err := c.hasColumn(c.b, column); err != nil || has != yes || len(c.sc.bindings) > 1 {
				return nil
			}
			x = &Expr{Span: x.Span, Kind: ColumnRef, Name: []Ident{column}}
		case len(a.source.columns) > 0:
			if i >= len(a.source.columns) || !c.sameLabel(column, a.source.columns[i]) {
				continue
			}
		case it.Alias != nil:
			if !c.sameLabel(column, *it.Alias) {
				continue
			}
		case x.Kind != ColumnRef || !c.sameLabel(column, x.Name[len(x.Name)-1]):
			continue
		}
		if found != nil || c.work > maxWork {
			return nil
		}
		found = x
	}
	return found
}

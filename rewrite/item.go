package rewrite

import "strings"

// This file edits select lists: items, the names they have without an alias,
// and *.

func (b *blockReader) item(it Item) error {
	if it.Expr == nil {
		return nil
	}
	if it.Expr.Kind == Star {
		return b.star(it)
	}
	before := len(b.edits)
	if err := b.expr(it.Expr, inItems); err != nil {
		return err
	}
	if len(b.edits) == before || it.Alias != nil {
		return nil
	}
	name, ok := b.itemName(it)
	if !ok {
		return opaque("cannot tell the name of a result column that has no alias")
	}
	if name == "" {
		return nil
	}
	// A name that was none of the query's own aliases becomes one, and ORDER
	// BY, GROUP BY and HAVING look among those: it must not hide another.
	if b.q != nil && len(b.q.OrderBy)+len(b.q.GroupBy) > 0 || b.q != nil && b.q.Having != nil {
		for _, o := range b.q.Items {
			if o.Alias != nil && b.sameLabel(*o.Alias, Ident{Name: name, Quoted: true}) {
				return opaque("two result columns are called " + name)
			}
		}
	}
	b.edits = append(b.edits, edit{Span{it.Expr.End, it.Expr.End}, " AS " + b.d.Quote(name)})
	return nil
}

// itemName returns the result column's name that the edits inside the item
// would change, or "" when they do not change it.
func (b *blockReader) itemName(it Item) (string, bool) {
	e := it.Expr
	for e.Kind == Paren && len(e.Args) == 1 {
		e = e.Args[0]
	}
	if e.Kind == ColumnRef {
		return b.columnName(e), true
	}
	if b.d.Traits().ExprNames {
		return b.src.text[it.Expr.Start:it.Expr.End], true
	}
	return ruleName(b, e)
}

// columnName is how the engine reports a bare column.
func (b *blockReader) columnName(e *Expr) string {
	last := e.Name[len(e.Name)-1]
	t, err := b.resolve(b.sc, e.Name)
	if err == nil && t != nil && t.column != nil && b.d.Traits().StoredNames {
		return t.column.Name
	}
	return last.Name
}

// ruleName follows PostgreSQL's naming of result columns: operators have no
// name of their own, calls the function's, casts their operand's.
func ruleName(b *blockReader, e *Expr) (string, bool) {
	switch e.Kind {
	case Binary, Unary, Number, String, Null, Param, In:
		return "", true
	case Call:
		return "", true
	case Subquery:
		return "", e.Query == nil || len(e.Query.Items) == 0 || len(e.Query.Operands) > 0 || e.Query.Items[0].Expr == nil ||
			e.Query.Items[0].Expr.Kind != Opaque
	case Opaque:
		if e.Op == "cast" && len(e.Args) == 1 {
			a := e.Args[0]
			for a.Kind == Paren && len(a.Args) == 1 {
				a = a.Args[0]
			}
			switch a.Kind {
			case ColumnRef:
				return b.columnName(a), true
			case Opaque:
				return ruleName(b, a)
			}
			return "", true
		}
	}
	return "", false
}

func (b *blockReader) star(it Item) error {
	touches := false
	for _, s := range b.sc.bindings {
		if len(it.Expr.Name) > 0 && !b.sameLabel(it.Expr.Name[len(it.Expr.Name)-1], s.label) {
			continue
		}
		touches = touches || s.counts && !b.readsBase(s.table)
	}
	if !touches {
		return nil
	}
	if b.sc.natural || len(b.sc.using) > 0 {
		// The columns are fewer than the tables', and those that are merged
		// take their values from either side in an outer join, with SQLite
		// for t.* too.
		if len(it.Expr.Name) == 0 || b.q != nil && outerJoins(b.q.From) {
			return opaque("* over a join with USING or NATURAL")
		}
	}
	var parts []string
	for _, s := range b.sc.bindings {
		if len(it.Expr.Name) > 0 && !b.sameLabel(it.Expr.Name[len(it.Expr.Name)-1], s.label) {
			continue
		}
		q := b.qualifier(s)
		if !s.counts {
			parts = append(parts, q+".*")
			continue
		}
		if len(s.columns) > 0 {
			return opaque("counter table " + s.table.Name + " has column aliases")
		}
		if b.readsBase(s.table) {
			parts = append(parts, q+".*")
			continue
		}
		b.note(s.table)
		b.stars = append(b.stars, s.table)
		for i := range s.table.Columns {
			c := &s.table.Columns[i]
			if c.Hidden {
				continue
			}
			if s.table.IsCounter(c.Name) {
				parts = append(parts, b.d.Total(s.table, q, c.Name, false)+" AS "+b.d.Quote(c.Name))
			} else {
				parts = append(parts, q+"."+b.d.Quote(c.Name))
			}
		}
	}
	b.edits = append(b.edits, edit{it.Expr.Span, strings.Join(parts, ", ")})
	return nil
}

// qualifier writes the name by which a source's columns are referred to. It is
// always quoted: whether it was matters to no engine once its letter case is
// what the dialect makes of it, and an alias may be a reserved word.
func (p *planning) qualifier(b *binding) string {
	if b.source.Alias == nil && b.table != nil {
		return p.d.Quote(b.table.Name)
	}
	return p.d.Quote(b.label.Name)
}

// bareItem says whether e is a whole select item.
func (b *blockReader) bareItem(e *Expr) bool {
	if b.q == nil {
		return false
	}
	b.work += len(b.q.Items)
	for _, it := range b.q.Items {
		x := it.Expr
		for x != nil && x.Kind == Paren {
			x = x.Args[0]
		}
		if x == e {
			return true
		}
	}
	return false
}

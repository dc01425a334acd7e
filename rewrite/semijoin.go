package rewrite

// Candidates of a subquery, on an engine where the keys of all candidates are one query:
//
//	SELECT * FROM comments c WHERE c.post_id IN (SELECT id FROM posts WHERE views > 9)
//	SELECT * FROM comments c WHERE EXISTS (SELECT 1 FROM posts p WHERE p.id = c.post_id AND views > 9)
//
// MariaDB turns both into joins, in which posts are looked up by their key: it reads all comments, and
// finds out for each of them whether its post is a candidate. But the outer column that equals the key
// has to be one of the candidates' keys, too, and a condition on that column lets the engine begin
// with the candidates:
//
//	WHERE (c.post_id IN (SELECT ...) AND c.post_id IN (SELECT slotsql_k0 FROM (<candidates>) AS slotsql_c))
//
// If no outer column equals the key, the condition stays in the subquery, as usual.

// A semijoin is a subquery with IN or EXISTS in a condition that each row of a block has to satisfy.
type semijoin struct {
	cond *Expr
	sc   *scope // of the block around it
	open bool   // neither constants nor an outer row fix the block's rows
}

// noteSemijoins notes the semijoins in a block's WHERE.
func (r *reader) noteSemijoins(sc *scope, q *Select) {
	if q.Where == nil || r.d.Traits().KeyIn[0] != "" {
		return
	}
	list := conjuncts(q.Where, nil)
	open := sc.outermost()
	for _, e := range list {
		r.work++
		open = open && !fixedBy(unparen(e))
	}
	for _, e := range list {
		var inner *Select
		switch x := unparen(e); {
		case x.Kind == Subquery && x.Op == "EXISTS" && !x.Negated:
			inner = x.Query
		case x.Kind == In && !x.Negated && len(x.Args) == 2 && x.Args[1].Kind == Subquery:
			inner = x.Args[1].Query
		}
		if inner == nil {
			continue
		}
		if r.semijoins == nil {
			r.semijoins = map[*Select]semijoin{}
		}
		r.semijoins[inner] = semijoin{e, sc, open}
	}
}

// fixedBy reports whether a condition is an equality with constants.
func fixedBy(e *Expr) bool {
	switch {
	case e.Kind == Binary && e.Op == "=":
		return constant(e.Args[0]) || constant(e.Args[1])
	case e.Kind == In && !e.Negated:
		for _, a := range e.Args[1:] {
			if !constant(a) {
				return false
			}
		}
		return true
	}
	return false
}

// besideSemijoin writes the condition beside the subquery; nil if that is not possible.
func (c *candidates) besideSemijoin() []edit {
	t, ok := c.semijoins[c.q]
	if !ok || !t.open || !plainRows(c.q) || c.windowed() || c.aggregated() {
		return nil
	}
	var columns []string
	for _, k := range c.b.table.Counter.Key {
		x := c.equal(unparen(t.cond), k)
		if x == nil || constant(x) || c.edited(x.Span) || c.volatile(t.sc, x) != "" {
			return nil
		}
		columns = append(columns, c.tp.mark(c.src.cut(x.Span)))
	}
	at := t.cond.Span
	return []edit{{Span{at.Start, at.Start}, "("}, {Span{at.End, at.End}, " AND " + c.condition(columns) + ")"}}
}

// equal returns the outer expression that equals a key column of the source in all rows that satisfy the condition.
func (c *candidates) equal(cond *Expr, key string) *Expr {
	if cond.Kind == In {
		x := unparen(cond.Args[0])
		if it := c.q.Items[0].Expr; len(c.q.Items) == 1 && it != nil && c.isKey(it, key) && !isRow(x) && namesOnly(x, anyName, nil) {
			return x
		}
	}
	if c.q.Where == nil {
		return nil
	}
	for _, e := range conjuncts(c.q.Where, nil) {
		e = unparen(e)
		if e.Kind != Binary || e.Op != "=" {
			continue
		}
		for i, a := range e.Args {
			if x := e.Args[1-i]; c.isKey(a, key) && namesOnly(x, c.notInBlock, nil) {
				return x
			}
		}
	}
	return nil
}

func anyName([]Ident) bool { return true }

// isKey reports whether an expression certainly is a column of the source.
func (c *candidates) isKey(e *Expr, key string) bool {
	e = unparen(e)
	return e.Kind == ColumnRef && c.ownColumn(e.Name) && c.d.SameColumn(e.Name[len(e.Name)-1], key)
}

// notInBlock reports whether a name certainly means no column of the block's sources.
func (c *candidates) notInBlock(name []Ident) bool {
	for _, b := range c.sc.bindings {
		c.work++
		if len(name) > 1 {
			if c.sameLabel(name[len(name)-2], b.label) {
				return false
			}
		} else if has, err := c.hasColumn(b, name[0]); err != nil || has != no {
			return false
		}
	}
	return true
}

package rewrite

// Candidates of a subquery, on an engine where the keys of all candidates are one query:
//
//	SELECT * FROM comments c WHERE c.post_id IN (SELECT id FROM posts WHERE views > 9)
//	SELECT * FROM comments c WHERE EXISTS (SELECT 1 FROM posts p WHERE p.id = c.post_id AND views > 9)
//
// MariaDB makes joins of both. Of a row that is looked up by its key it then knows no other way in: it
// reads all comments, and asks for each whether its post is a candidate. The column outside that
// equals the key is one of the candidates' keys as well, and said of that column the condition is
// where the engine begins:
//
//	WHERE (c.post_id IN (SELECT ...) AND c.post_id IN (SELECT slotsql_k0 FROM (<candidates>) AS slotsql_c))
//
// Where no column outside equals the key, the condition stands inside, as ever.

// A tested subquery is one of a condition, IN or EXISTS, that each row of a block has to meet.
type tested struct {
	cond *Expr
	sc   *scope // of the block around it
	open bool   // no constant fixes the block's rows, nor does a row around it
}

// test notes the subqueries that are tested in a block's WHERE.
func (r *reader) test(sc *scope, q *Select) {
	if q.Where == nil || r.d.Traits().KeyIn[0] != "" {
		return
	}
	list := conjuncts(q.Where, nil)
	open := sc.outermost()
	for _, e := range list {
		r.work++
		open = open && !fixedBy(unwrapped(e))
	}
	for _, e := range list {
		var inner *Select
		switch x := unwrapped(e); {
		case x.Kind == Subquery && x.Op == "EXISTS" && !x.Negated:
			inner = x.Query
		case x.Kind == In && !x.Negated && len(x.Args) == 2 && x.Args[1].Kind == Subquery:
			inner = x.Args[1].Query
		}
		if inner == nil {
			continue
		}
		if r.tests == nil {
			r.tests = map[*Select]tested{}
		}
		r.tests[inner] = tested{e, sc, open}
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

// outside writes the condition beside the subquery; nil where that is not possible.
func (c *candidates) outside() []edit {
	t, ok := c.tests[c.q]
	if !ok || !t.open || !plainRows(c.q) || c.windowed() || c.aggregated() {
		return nil
	}
	var columns []string
	for _, k := range c.b.table.Counter.Key {
		x := c.equal(unwrapped(t.cond), k)
		if x == nil || constant(x) || c.edited(x.Span) || c.unsteady(t.sc, x) != "" {
			return nil
		}
		columns = append(columns, c.tp.mark(c.src.cut(x.Span)))
	}
	at := t.cond.Span
	return []edit{{Span{at.Start, at.Start}, "("}, {Span{at.End, at.End}, " AND " + c.condition(columns) + ")"}}
}

// equal returns what outside of the block equals a key column of the source where the condition is met.
func (c *candidates) equal(cond *Expr, key string) *Expr {
	if cond.Kind == In {
		x := unwrapped(cond.Args[0])
		if it := c.q.Items[0].Expr; len(c.q.Items) == 1 && it != nil && c.isKey(it, key) && !isRow(x) && namesOnly(x, anyName, nil) {
			return x
		}
	}
	if c.q.Where == nil {
		return nil
	}
	for _, e := range conjuncts(c.q.Where, nil) {
		e = unwrapped(e)
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
	e = unwrapped(e)
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

package random

import "strings"

// join adds a source, or a join of two in parentheses, to what stands before it.
func (g *generator) join(f *from) {
	join := g.pick(" JOIN ", " LEFT JOIN ", " INNER JOIN ", ", ", " CROSS JOIN ", " RIGHT JOIN ", " left outer join ")
	switch {
	case !g.my() && g.one(6):
		join = g.pick(" FULL JOIN ", " FULL OUTER JOIN ")
	case g.my() && g.one(8):
		join = " STRAIGHT_JOIN "
	}
	if f.nested && join == ", " {
		join = " JOIN " // in parentheses a comma joins nothing
	}
	for _, outer := range []string{"LEFT", "RIGHT", "FULL"} {
		f.extend = f.extend || strings.Contains(strings.ToUpper(join), outer)
	}
	left := f.sources[f.item:]
	if g.pg() && g.one(8) && g.depth < 3 && !f.nested {
		g.lateral(f)
		return
	}
	query, start := "", len(f.sources)
	if f.nested || !g.one(12) {
		query = g.source(f)
	} else {
		query = g.nest(f)
	}
	right := f.sources[len(f.sources)-1]
	single := len(f.sources)-start == 1
	switch {
	case join == ", ":
		f.item = start
		f.sql += join + query
		return
	case join == " CROSS JOIN ":
		f.sql += join + query
		return
	case single && g.one(6) && len(shared(left, right)) > 0:
		names := shared(left, right)
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		list := g.quote(names[0])
		if len(names) > 1 && g.one(3) {
			list += ", " + g.quote(names[1])
		}
		f.sql += join + query + " USING (" + list + ")"
		f.merged = true
		return
	case single && g.one(20) && join != " STRAIGHT_JOIN " && !g.manyShared(left, right):
		f.sql += " NATURAL" + strings.TrimSuffix(join, " ") + " " + query
		f.merged = true
		return
	}
	on := "1 = 1"
	g.whole++ // hashable on PostgreSQL, which FULL JOIN asks for
	a, _ := g.columnWhere(&from{sources: left, outer: &from{}, extend: f.extend}, isWhole)
	b, _ := g.columnWhere(&from{sources: []source{right}, outer: &from{}, extend: f.extend}, isWhole)
	g.whole--
	full := strings.Contains(join, "FULL")
	if a != "" && b != "" {
		on = a + " = " + b
		if !full && g.one(4) {
			on += " AND " + g.condition(&from{sources: f.sources[f.item:], outer: &from{}, extend: f.extend})
		} else if !full && g.one(8) {
			on = a + g.pick(" < ", " >= ", " <> ") + b
		}
	} else if full {
		join = " JOIN "
	}
	if g.one(8) {
		on = "(" + on + ")"
	}
	f.sql += join + query + " ON " + on
}

func isWhole(c column) bool { return c.kind == number && !c.decimal }

// manyShared reports whether a NATURAL join would compare something that it must
// not, or names a column that the left side has twice.
func (g *generator) manyShared(left []source, right source) bool {
	for _, c := range right.columns {
		n := 0
		for _, s := range left {
			for _, o := range s.columns {
				if o.name == c.name {
					n++
					if o.kind != c.kind || o.made || c.made {
						return true
					}
				}
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// shared lists the names that USING may have: those of one column on either
// side, of the same kind.
func shared(left []source, right source) []string {
	var out []string
	for _, c := range right.columns {
		n := 0
		for _, s := range left {
			for _, o := range s.columns {
				if o.name == c.name {
					n++
					if o.kind != c.kind || o.decimal || c.decimal || o.loose || c.loose || o.made || c.made {
						n = 2
					}
				}
			}
		}
		if n == 1 {
			out = append(out, c.name)
		}
	}
	return out
}

// nest writes a join in parentheses.
func (g *generator) nest(f *from) string {
	sub := &from{outer: f, nested: true, extend: f.extend}
	sub.sql = g.source(sub)
	g.join(sub)
	f.sources = append(f.sources, sub.sources...)
	f.merged, f.extend = f.merged || sub.merged, sub.extend
	return "(" + sub.sql + ")"
}

// lateral adds a subquery that sees what stands before it.
func (g *generator) lateral(f *from) {
	g.depth++
	inner := g.sources(nil, 1)
	inner.outer = &from{sources: f.sources, outer: f.outer}
	query, cols := g.derived(inner)
	g.depth--
	a := g.alias()
	join := g.pick(", LATERAL (", " CROSS JOIN LATERAL (", " LEFT JOIN LATERAL (")
	f.sql += join + query + ") " + g.pick("", "AS ") + a
	switch join {
	case " LEFT JOIN LATERAL (":
		f.sql += " ON true"
	case ", LATERAL (":
		f.item = len(f.sources)
	}
	f.sources = append(f.sources, source{name: a, columns: cols})
}

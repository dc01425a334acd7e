package random

import "strings"

// This file writes conditions on counters inside IN and EXISTS, and in UPDATE, DELETE and INSERT ... SELECT. They
// compare counters with constants most times: for these slotsql looks for the rows that may meet them.

// ofCounter writes a condition on counters of a table.
func (g *generator) ofCounter(t *table, qualifier string) string {
	col := func() string { return qualifier + g.quote(either(g, t.counters()).name) }
	bound := func() string {
		return g.value(either(g, []any{int64(0), int64(1), int64(3), int64(5), int64(10), int64(40)}))
	}
	one := func() string { return col() + g.pick(" > ", " >= ", " < ", " <= ", " = ") + bound() }
	switch g.IntN(12) {
	case 0:
		return one() + " AND " + one()
	case 1:
		return "(" + one() + " OR " + one() + ")"
	case 2: // the same twice
		c := one()
		return g.pick("("+c+" OR "+c+")", c+" AND "+c, "("+c+" OR "+c+" AND "+c+")")
	case 3:
		return col() + " BETWEEN " + bound() + " AND " + bound()
	case 4:
		return col() + g.pick(" IN (", " NOT IN (") + bound() + ", " + bound() + ")"
	case 5:
		return col() + g.pick(" IS NULL", " IS NOT NULL AND "+one())
	case 6:
		return "NOT (" + one() + ")"
	case 7:
		return bound() + g.pick(" < ", " >= ", " = ") + col()
	case 8:
		return col() + g.pick(" > ", " + 0 > ", " <= ", " <> ") + col()
	case 9:
		if o := t.valued(); len(o) > 0 {
			c := either(g, o)
			q, v := qualifier+g.quote(c.name), g.value(either(g, c.values))
			return g.pick("("+one()+" OR "+q+" = "+v+")", "("+one()+" AND "+q+" = "+v+" OR "+one()+" AND "+q+" <> "+v+")")
		}
	}
	return one()
}

// alsoOrdinary adds a condition on an ordinary column, most times none.
func (g *generator) alsoOrdinary(t *table, qualifier string) string {
	o := t.valued()
	if len(o) == 0 || !g.one(3) {
		return ""
	}
	c := either(g, o)
	q := qualifier + g.quote(c.name)
	return " AND " + g.pick(q+" IS NOT NULL", q+" = "+g.value(either(g, c.values)), q+" <> "+g.value(either(g, c.values)),
		"COALESCE("+q+", "+g.constant(c.values[0])+") >= "+g.value(either(g, c.values)))
}

// keyedByNumber is a counter table whose key is one whole number.
func (g *generator) keyedByNumber() *table {
	for {
		if t := g.counterTable(); len(t.key) == 1 && !t.local {
			return t
		}
	}
}

// chosen writes IN or EXISTS for the rows that a condition on counters selects: by their key, which a column
// outside equals, or by another column.
func (g *generator) chosen(f *from) string {
	outside := g.soughtRef(f)
	if outside == "" || g.depth > 2 {
		return g.number(f) + " > 1"
	}
	g.depth++
	defer func() { g.depth-- }()
	t, a := g.keyedByNumber(), g.alias()
	key, in := a+"."+g.quote(t.key[0]), g.tableName(t)+g.pick(" ", " AS ")+a
	cond := g.ofCounter(t, a+".") + g.alsoOrdinary(t, a+".")
	not := g.pick("", "", "", "NOT ")
	equal := g.pick(key+" = "+outside, outside+" = "+key, "("+key+") = "+outside)
	exists := func(list, from, more string) string {
		return not + g.pick("EXISTS", "exists") + " (SELECT " + list + " FROM " + from + " WHERE " + equal + " AND " + cond + more + ")"
	}
	switch g.IntN(9) {
	case 0: // a row of an aggregate is there whatever WHERE says
		return exists(g.pick("COUNT(*)", "MAX("+key+")", "SUM("+a+"."+g.quote(either(g, t.counters()).name)+")"), in, "")
	case 1:
		return exists("1", in, g.pick(" LIMIT 1", " GROUP BY "+key, " HAVING COUNT(*) = 0", " GROUP BY "+key+" HAVING COUNT(*) > 0"))
	case 2:
		b := g.alias()
		return exists("1", in+g.pick(" JOIN ", " LEFT JOIN ")+"tags "+b+" ON "+b+".post_id = "+key, "")
	case 3:
		least := g.pick("DISTINCT ", "") + g.pick("MAX(", "MIN(") + key + ")"
		return outside + " " + not + "IN (SELECT " + least + " FROM " + in + " WHERE " + cond + ")"
	case 4:
		if x := g.soughtRef(f); x != "" { // of the row outside as well
			return outside + " " + not + "IN (SELECT " + key + " FROM " + in + " WHERE " + cond + " AND " + key + g.pick(" <= ", " = ") + x + ")"
		}
	case 5, 6:
		return exists(g.pick("1", "*", "NULL", key), in, "")
	}
	return outside + " " + not + "IN (SELECT " + g.pick("", "DISTINCT ") + key + " FROM " + in + " WHERE " + cond + ")"
}

// byCounter writes a statement that changes the rows which a condition on counters selects.
func (g *generator) byCounter() string { return g.byCounterOf(g.growingTable()) }

// growingTable is a counter table whose rows may be inserted and deleted.
func (g *generator) growingTable() *table {
	for {
		if t := g.counterTable(); t.more {
			return t
		}
	}
}

// countedFirst writes increments of several sessions and then a statement by the counters that they have
// changed: otherwise few rows have slots that decide whether they are selected.
func (g *generator) countedFirst() []Step {
	t := g.growingTable()
	var steps []Step
	for _, c := range t.counters() {
		for range 2 {
			g.reset()
			n := g.quote(c.name)
			s := g.finish("UPDATE " + g.tableName(t) + " SET " + n + " = " + n + " + " + g.value(either(g, []any{int64(1), int64(3), int64(6)})) +
				whereClause(g.keyed(t, "")))
			s.Session = g.IntN(Sessions)
			steps = append(steps, s)
		}
	}
	g.reset()
	by := g.byCounterOf
	if g.one(2) {
		by = g.byTwoOf
	}
	s := g.finish(by(t))
	s.Session = g.IntN(Sessions)
	return append(steps, s)
}

func (g *generator) byCounterOf(t *table) string {
	switch n := g.IntN(12); {
	case n < 4:
		verb := "DELETE FROM "
		if g.my() && g.one(8) {
			verb = "DELETE IGNORE FROM "
		}
		s := verb + g.tableName(t) + " WHERE " + g.ofCounter(t, g.pick("", g.tableBare(t)+".")) + g.alsoOrdinary(t, "")
		if g.my() && g.one(8) {
			return s + " ORDER BY " + g.quote(t.key[0]) + g.pick("", " DESC") + " LIMIT 2"
		}
		return s + g.tail(t)
	case n < 8:
		head, qualifier, target := g.target(t)
		set := g.setOrdinary(t, target)
		if set == "" || g.one(8) { // as it is
			c := g.quote(either(g, t.counters()).name)
			set = target + c + " = " + qualifier + c
		}
		return head + " SET " + set + " WHERE " + g.ofCounter(t, qualifier) + g.alsoOrdinary(t, qualifier) + g.tail(t)
	case n < 9:
		return g.insertChosen()
	}
	// Rows of another table, by counters of this one.
	t = g.keyedByNumber()
	a := g.alias()
	key, in, cond := a+"."+g.quote(t.key[0]), g.tableName(t)+" "+a, g.ofCounter(t, a+".")+g.alsoOrdinary(t, a+".")
	v := g.value(int64(g.IntN(9)))
	switch g.IntN(6) {
	case 0:
		return "DELETE FROM tags WHERE post_id " + g.pick("", "NOT ") + "IN (SELECT " + key + " FROM " + in + " WHERE " + cond + ")"
	case 1:
		return "DELETE FROM tags WHERE " + g.pick("", "NOT ") +
			"EXISTS (SELECT 1 FROM " + in + " WHERE " + key + " = tags.post_id AND " + cond + ")"
	case 2:
		return "UPDATE tags SET n = " + v + " WHERE post_id IN (SELECT " + key + " FROM " + in + " WHERE " + cond + ")"
	case 3:
		if g.my() {
			return "UPDATE tags JOIN " + in + " ON " + key + " = tags.post_id SET tags.n = " + v + " WHERE " + cond
		}
		return "UPDATE tags SET n = " + v + " FROM " + in + " WHERE " + key + " = tags.post_id AND " + cond
	case 4: // of the counter table itself, by rows of another one
		other := g.pick("id IN (SELECT post_id FROM tags)", "EXISTS (SELECT 1 FROM tags WHERE post_id = posts.id)",
			"views > (SELECT COUNT(*) FROM tags)", "id NOT IN (SELECT id FROM tags WHERE id > 3)")
		posts := g.tables[1]
		return g.pick("DELETE FROM posts", "UPDATE posts SET title = 'chosen'") + " WHERE " + other + " AND " + g.ofCounter(posts, "posts.")
	}
	if g.my() {
		return "DELETE " + a + " FROM " + in + " JOIN tags ON tags.post_id = " + key + " WHERE " + cond
	}
	return "DELETE FROM tags WHERE n = (SELECT COUNT(*) FROM " + in + " WHERE " + cond + ")"
}

// insertChosen copies rows that a condition on counters selects.
func (g *generator) insertChosen() string {
	t, a := g.keyedByNumber(), g.alias()
	key := a + "." + g.quote(t.key[0])
	s := "INSERT INTO tags (id, post_id, label) SELECT " + key + " + " + g.pick("100", "200", "300") + ", " + key + ", 'chosen' FROM " +
		g.tableName(t) + " " + a + " WHERE " + g.ofCounter(t, a+".") + g.alsoOrdinary(t, a+".")
	if g.one(3) {
		s += " AND " + key + g.pick(" IN", " NOT IN") + " (SELECT post_id FROM tags WHERE post_id IS NOT NULL)"
	}
	if g.lite() {
		s += " ORDER BY " + key // the last row's rowid is what LastInsertId says
	}
	return strings.TrimSpace(s + g.skip())
}

package random

import "strings"

// This file writes conditions on, and values of, two counters of one table.

var bounds = []any{int64(0), int64(1), int64(3), int64(5), int64(10), int64(40)}

// two are two counters of a table, or the only one twice.
func (g *generator) two(t *table, qualifier string) (a, b string) {
	counters := t.counters()
	i := g.IntN(len(counters))
	j := (i + 1 + g.IntN(max(len(counters)-1, 1))) % len(counters)
	return qualifier + g.quote(counters[i].name), qualifier + g.quote(counters[j].name)
}

// ofTwo writes a condition on two counters of a table, now and then on one, with or without ordinary columns.
func (g *generator) ofTwo(t *table, qualifier string) string {
	a, b := g.two(t, qualifier)
	order := func() string { return g.pick(" < ", " <= ", " > ", " >= ", " = ", " <> ") }
	bound := func() string { return order() + g.value(either(g, bounds)) }
	switch g.IntN(22) {
	case 0:
		return "(" + a + bound() + " OR " + b + bound() + ")"
	case 1:
		return a + order() + b
	case 2:
		return a + order() + b + " AND " + a + bound()
	case 3:
		return "(" + a + order() + b + " OR " + b + bound() + ")"
	case 4:
		return a + " + " + b + bound()
	case 5:
		return a + g.pick(" BETWEEN ", " NOT BETWEEN ") + g.value(either(g, bounds)) + " AND " + b
	case 6:
		return g.value(either(g, bounds)) + " BETWEEN " + a + " AND " + b
	case 7:
		return g.pick("("+a+" IS NULL OR "+b+bound()+")", a+" IS NOT NULL AND "+b+bound(), "("+a+" IS NULL OR "+b+" IS NOT NULL)")
	case 8:
		return "NOT (" + a + bound() + g.pick(" AND ", " OR ") + b + bound() + ")"
	case 9:
		return g.pick("COALESCE("+a+", 0)"+order()+"COALESCE("+b+", 1)", "COALESCE("+a+", "+b+", 2)"+bound())
	case 10:
		return g.pick(g.greatest(), g.least()) + "(" + a + ", " + b + ")" + bound()
	case 11:
		return a + g.pick(" IN (", " NOT IN (") + b + ", " + g.value(either(g, bounds)) + ")"
	case 12:
		return "CASE WHEN " + a + bound() + " THEN " + b + bound() + " ELSE " + a + order() + b + " END"
	case 13:
		row := "(" + g.value(either(g, bounds)) + ", " + g.value(either(g, bounds)) + ")"
		return "(" + a + ", " + b + ")" + g.pick(" = ", " < ", " >= ") + row
	case 14:
		return "(" + a + bound() + " AND " + b + bound() + " OR " + b + order() + a + ")"
	case 15, 16:
		if o := t.valued(); len(o) > 0 {
			c := either(g, o)
			q, v := qualifier+g.quote(c.name), g.value(either(g, c.values))
			return g.pick(
				a+bound()+" AND "+q+g.pick(" = ", " <> ")+v+" AND "+b+bound(),
				"("+a+bound()+" AND "+q+" = "+v+" OR "+b+bound()+" AND "+q+" <> "+v+")",
				"("+a+order()+b+" OR "+q+" = "+v+") AND "+b+bound(),
				"("+q+" IS NULL OR "+a+bound()+") AND "+a+order()+b,
			)
		}
	case 17, 18:
		return a + bound()
	case 19:
		if n := g.numberColumn(t); n != nil {
			q := qualifier + g.quote(n.name)
			return g.pick(a+order()+q+" AND "+b+bound(), a+" + "+q+order()+b, "("+a+order()+q+" OR "+b+order()+q+")")
		}
	}
	return a + bound() + " AND " + b + bound()
}

// fromTwo writes a number that is made of two counters.
func (g *generator) fromTwo(t *table, qualifier string) string {
	a, b := g.two(t, qualifier)
	switch g.IntN(9) {
	case 0:
		return a + " + " + b
	case 1:
		return "CASE WHEN " + g.ofTwo(t, qualifier) + " THEN " + a + " ELSE " + b + " END"
	case 2:
		return g.pick(g.greatest(), g.least()) + "(" + a + ", " + b + ")"
	case 3:
		return "COALESCE(" + a + ", " + b + ", 0)"
	case 4:
		return "CASE WHEN " + a + g.pick(" > ", " <= ", " = ") + b + " THEN " + a + " + 1 ELSE " + a + " END"
	case 5:
		return "CASE WHEN " + g.ofTwo(t, qualifier) + " THEN 1 ELSE 0 END"
	case 6:
		if !g.pg() {
			return a + " + (" + b + " > " + g.value(either(g, bounds)) + ")"
		}
		return a + " + (" + b + " > " + g.value(either(g, bounds)) + ")::int"
	case 7:
		return g.least() + "(" + a + " + " + b + ", " + g.value(either(g, bounds)) + ")"
	}
	return a + " + CASE WHEN " + b + g.pick(" > ", " < ") + g.value(either(g, bounds)) + " THEN 1 ELSE " + g.pick("0", "2", "-1") + " END"
}

// setOfTwo writes assignments of what two counters make: to one of them, to both, or to an ordinary column. A role that may change the
// column and no counters may not drain (docs/divergences.md).
func (g *generator) setOfTwo(t *table, qualifier, target string) string {
	c := either(g, t.counters())
	set := target + g.quote(c.name) + " = " + g.fromTwo(t, qualifier)
	switch o := t.valued(); {
	case len(o) > 0 && g.one(3) && !g.restricted:
		c = either(g, o)
		set = target + g.quote(c.name) + " = "
		if c.kind == number {
			return set + g.fromTwo(t, qualifier)
		}
		then, other := g.constant(either(g, c.values)), g.constant(either(g, c.values))
		return set + "CASE WHEN " + g.ofTwo(t, qualifier) + " THEN " + then + " ELSE " + other + " END"
	case g.one(3): // conditional increment
		q := qualifier + g.quote(c.name)
		set = target + g.quote(c.name) + " = " + q + " + CASE WHEN " + g.ofTwo(t, qualifier) + " THEN 1 ELSE 0 END"
	}
	if d := either(g, t.counters()); d != c && g.one(3) {
		set += ", " + g.plus(t, d, qualifier, target)
	}
	return set
}

// byTwo writes a statement that changes rows by two of their counters, or by two of a table that it joins.
func (g *generator) byTwo() string { return g.byTwoOf(g.growingTable()) }

func (g *generator) byTwoOf(t *table) string {
	switch n := g.IntN(12); {
	case n < 2:
		q := g.pick("", g.tableBare(t)+".")
		return "DELETE FROM " + g.tableName(t) + " WHERE " + g.withKey(t, q) + g.tail(t)
	case n < 6:
		head, qualifier, target := g.target(t)
		set := g.setOfTwo(t, qualifier, target)
		switch g.IntN(4) {
		case 0:
			set = g.plus(t, either(g, t.counters()), qualifier, target)
		case 1:
			if s := g.setOrdinary(t, target); s != "" {
				set = s
			}
		}
		return head + " SET " + set + " WHERE " + g.withKey(t, qualifier) + g.tail(t)
	case n < 8:
		return g.insertOfTwo()
	case n < 9:
		return g.insertOver()
	}
	return g.joinedByTwo()
}

// withKey adds a key to a condition on two counters, or not.
func (g *generator) withKey(t *table, qualifier string) string {
	cond := g.ofTwo(t, qualifier)
	switch {
	case t.key == nil || !g.one(2):
		return cond
	case g.one(2):
		return cond + " AND " + g.keyed(t, qualifier)
	}
	return g.keyed(t, qualifier) + " AND " + cond
}

// insertOfTwo copies from a counter table by two of its counters.
func (g *generator) insertOfTwo() string {
	t, a := g.keyedByNumber(), g.alias()
	key := a + "." + g.quote(t.key[0])
	s := "INSERT INTO tags (id, post_id, n, label) SELECT " + key + " + " + g.pick("400", "500", "600") + ", " + key + ", " +
		g.fromTwo(t, a+".") + ", CASE WHEN " + g.ofTwo(t, a+".") + " THEN 'both' END FROM " + g.tableName(t) + " " + a +
		" WHERE " + g.ofTwo(t, a+".") + g.alsoOrdinary(t, a+".")
	if g.lite() {
		s += " ORDER BY " + key // the last row's rowid is what LastInsertId says
	}
	return strings.TrimSpace(s + g.skip())
}

// insertOver is an upsert of rows that two counters select.
func (g *generator) insertOver() string {
	t, a := g.keyedByNumber(), g.alias()
	key := a + "." + g.quote(t.key[0])
	limits := g.tables[4]
	s := "INSERT INTO limits (id, used, tiny, spare, cap) SELECT " + key + ", 1, 2, COALESCE(" + g.fromTwo(t, a+".") + ", 3), 4 FROM " +
		g.tableName(t) + " " + a + " WHERE " + g.ofTwo(t, a+".") + " ORDER BY " + key
	given := "excluded.spare"
	if g.my() {
		given = "VALUES(spare)"
	}
	set := g.pick("spare = limits.spare + "+given, "spare = "+given, "tiny = limits.used", "cap = limits.tiny + limits.used",
		"spare = CASE WHEN "+g.ofTwo(limits, "limits.")+" THEN limits.spare + 1 ELSE limits.spare END")
	if g.my() {
		return s + " ON DUPLICATE KEY UPDATE " + set
	}
	s += " ON CONFLICT (id) DO UPDATE SET " + set
	if g.one(2) {
		s += " WHERE " + g.ofTwo(limits, "limits.")
	}
	return s + g.tail(limits)
}

// joinedByTwo changes rows by two counters of a table that is joined to theirs.
func (g *generator) joinedByTwo() string {
	posts, users := g.tables[1], g.tables[0]
	cond := g.pick(g.ofTwo(users, "u."), g.ofTwo(posts, "p."), g.ofTwo(users, "u.")+" AND "+g.ofTwo(posts, "p."),
		g.ofTwo(users, "u.")+g.alsoOrdinary(posts, "p."))
	on := g.pick("u.id = p.author_id", "u.id = p.id")
	switch g.IntN(4) {
	case 0: // without the other's counters in SET
		if g.my() {
			return "DELETE p FROM posts p JOIN users u ON " + on + " WHERE " + cond
		}
		if g.pg() {
			return "DELETE FROM posts p USING users u WHERE " + on + " AND " + cond + g.tail(posts)
		}
		return "DELETE FROM posts AS p WHERE EXISTS (SELECT 1 FROM users u WHERE " + on + " AND " + cond + ")"
	case 1: // a row of tags by a row of posts
		in := g.ofTwo(posts, "p.")
		if g.my() {
			return "UPDATE tags JOIN posts p ON p.id = tags.post_id SET tags.n = " + g.fromTwo(posts, "p.") + " WHERE " + in
		}
		return "UPDATE tags SET n = " + g.fromTwo(posts, "p.") + " FROM posts p WHERE p.id = tags.post_id AND " + in
	}
	chosen := "CASE WHEN " + g.ofTwo(users, "u.") + " THEN "
	set := g.pick("views = "+g.fromTwo(users, "u."), "likes = p.likes + u.strikes", "title = "+chosen+"'a' ELSE p.title END",
		"views = p.views + "+chosen+"1 ELSE 0 END", "likes = "+g.fromTwo(posts, "p."), "views = p.views + 1")
	if g.my() {
		return "UPDATE posts p " + g.pick("JOIN", "INNER JOIN", "LEFT JOIN") + " users u ON " + on + " SET p." + set + " WHERE " + cond
	}
	return "UPDATE posts AS p SET " + set + " FROM users u WHERE " + on + " AND " + cond
}

// locking writes a read that locks rows by two counters; on SQLite it has no locks to ask for.
func (g *generator) locking() (string, bool) {
	t := g.counterTable()
	qualifier, head := "", g.tableName(t)
	if g.one(2) {
		qualifier = g.alias() + "."
		head += " AS " + strings.TrimSuffix(qualifier, ".")
	}
	a, b := g.two(t, qualifier)
	items := g.pick("*", a+", "+b, g.fromTwo(t, qualifier)+" AS n", "CASE WHEN "+g.ofTwo(t, qualifier)+" THEN "+a+" END AS n, "+b)
	query := "SELECT " + items + " FROM " + head + " WHERE " + g.withKey(t, qualifier) + g.alsoOrdinary(t, qualifier)
	ordered := len(t.key) == 1 && g.one(2)
	if ordered {
		query += " ORDER BY " + qualifier + g.quote(t.key[0]) + g.pick("", " DESC") + g.pick("", "", " LIMIT 2")
	}
	switch {
	case g.my():
		query += g.pick(" FOR UPDATE", " FOR UPDATE", " LOCK IN SHARE MODE")
	case g.pg():
		query += g.pick(" FOR UPDATE", " FOR UPDATE", " FOR SHARE", " FOR NO KEY UPDATE")
	}
	return query, ordered
}
